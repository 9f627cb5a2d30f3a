"""Datasets that a nursery does not merge: meta refuses them, or their layout is not known here."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from meta.self_report import Progress, waiting_part
from nursery import metrics
from nursery.registration.refused import RefusedDatasets

log = structlog.get_logger()
# Datasets that a poll may name.
WAITING_MAX = 1_000


class WaitingDatasets:
    """The datasets that wait, each with its reason, and the report of them."""

    def __init__(self, monotonic: Callable[[], float], progress: Progress) -> None:
        self.refused = RefusedDatasets(monotonic)
        self.unknown_layouts: Mapping[str, str] = {}
        self._progress = progress
        self._noted: Mapping[str, str] = {}

    def withheld(self) -> Sequence[str]:
        """Return the datasets that a poll is not to name."""
        return list(self.unknown_layouts.keys() | self.refused.withheld())[:WAITING_MAX]

    def note(self) -> None:
        """Report for each dataset why it waits, and the end of the wait."""
        waiting = {**self.refused.reasons(), **self.unknown_layouts}
        for dataset_id, reason in waiting.items():
            if self._noted.get(dataset_id) != reason:
                log.warning("dataset_waiting", dataset_id=dataset_id, reason=reason)
                self._progress.failed(reason, waiting_part(dataset_id))
        for dataset_id in self._noted.keys() - waiting.keys():
            log.info("dataset_waits_no_more", dataset_id=dataset_id)
            self._progress.recovered(waiting_part(dataset_id))
        self._noted = waiting
        metrics.NURSERY_WAITING_DATASETS.set(len(waiting))
