"""Datasets whose registration meta refuses until an operator has decided."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# A refused registration repeats its job, so it is tried again after 1, 2, 4, 8, 15, 15 minutes.
RETRY_SECS = 60.0
RETRY_SECS_MAX = 900.0
# A dataset that was due and is not refused again by then has nothing to merge any more.
FORGET_SECS = 900.0


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    wait_secs: float
    due_at: float


class RefusedDatasets:
    """The datasets that wait, each with meta's refusal and the time of the next try."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._refusals: dict[str, _Refusal] = {}

    def refuse(self, dataset_id: str, reason: str) -> None:
        """Let a dataset wait, twice as long as the time before."""
        refusal = self._refusals.get(dataset_id)
        wait_secs = min(RETRY_SECS_MAX, refusal.wait_secs * 2) if refusal else RETRY_SECS
        due_at = self._monotonic() + wait_secs
        self._refusals[dataset_id] = _Refusal(reason, wait_secs, due_at)

    def accept(self, dataset_id: str) -> None:
        """End the wait of a dataset that was registered."""
        self._refusals.pop(dataset_id, None)

    def reasons(self) -> Mapping[str, str]:
        """The datasets that wait, or are due for another try, with the latest refusal."""
        forgotten = self._monotonic() - FORGET_SECS
        self._refusals = {d: r for d, r in self._refusals.items() if r.due_at > forgotten}
        return {dataset_id: refusal.reason for dataset_id, refusal in self._refusals.items()}

    def withheld(self) -> frozenset[str]:
        """The datasets that are not to be merged now."""
        now = self._monotonic()
        return frozenset(d for d, refusal in self._refusals.items() if refusal.due_at > now)
