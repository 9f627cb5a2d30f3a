"""Calls that register segments, as the core and its parts see them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from meta.access import NO_CALLER, AuditCaller
from meta.errors import MetaError
from meta.store.segments.segments import Claim, NewSegment
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions.versions import Version


@dataclass(frozen=True, slots=True)
class Merge:
    """One call: segments of one dataset (none = offsets only), and the offsets they move.

    `stated` has what it states for each part, by the name of the part's field in the request; only
    the part opens it.
    """

    dataset_id: UUID
    segments: tuple[NewSegment, ...]
    moves: tuple[EntryMove, ...]
    # A batch serves many callers, and runs in the context of none.
    caller: AuditCaller = NO_CALLER
    # Registrations of people are audited; those of workers are not.
    is_audited: bool = False
    stated: Mapping[str, object] = field(default_factory=dict)


class DatasetRow(NamedTuple):
    """A live dataset, locked: its key, and the columns of its row that parts read."""

    key: int
    columns: Mapping[str, Any]


class MoveCount(NamedTuple):
    """Records and number of the baby segments of a move, and whether each is counted."""

    records: int
    babies: int
    is_counted: bool


@dataclass(slots=True, eq=False)
class BatchCall:
    """A call of a batch, with the offsets and records that it is checked against.

    `dataset` is None unless it is live, `answer` as long as nothing is decided. A call that is
    answered with a version was registered before.

    `merged` and `committed` are the offsets of its moves' entries and heads, in order; None = there
    is none. If an entry's implied offset reaches the offset that the call names, `merged` is that.
    `counts` are those of its moves, if it is counted.
    """

    merge: Merge
    dataset: DatasetRow | None
    merged: Sequence[int | None] = ()
    committed: Sequence[int | None] = ()
    counts: Sequence[MoveCount] = ()
    claims: tuple[Claim, ...] = ()
    answer: Version | MetaError | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing was found against it yet, and nothing of it is registered."""
        return self.answer is None


def keys_of(calls: Iterable[BatchCall]) -> dict[UUID, int]:
    """The keys of the live datasets of calls."""
    return {c.merge.dataset_id: c.dataset.key for c in calls if c.dataset is not None}


def raise_refusal(calls: Iterable[BatchCall]) -> None:
    """Raise the first refusal, if any."""
    for call in calls:
        if isinstance(call.answer, MetaError):
            raise call.answer
