"""Expected state of ingest streams: what collectors committed and nurseries merged."""

from dataclasses import dataclass, field

from meta.errors import (
    ExcessEvents,
    MetaError,
    NotDrained,
    OffsetConflict,
    OffsetGap,
    OffsetNotCommitted,
    OffsetTaken,
    StopMismatch,
    StreamStopped,
)

Refusal = type[MetaError] | None
# A commit's start of time, size, records and flush id.
Facts = tuple[int, int, int, bytes]


@dataclass
class ModelBaby:
    """A committed baby. `routing` = each token's datasets at its commit, if it has no stamps."""

    facts: Facts
    stamps: tuple[str, ...]
    routing: dict[str, frozenset[str]]

    @property
    def has_object(self) -> bool:
        """False for a stop message that MarkStreamStopped committed."""
        return bool(self.stamps) or any(self.facts[:3])

    def is_for(self, dataset_id: str) -> bool:
        """True if the baby holds records of the dataset."""
        if self.stamps or not self.facts[2]:
            return dataset_id in self.stamps
        return any(dataset_id in datasets for datasets in self.routing.values())


@dataclass
class ModelEntry:
    """One dataset of a stream: nothing at or below `base` is of it, `stored` is merged.

    What else is merged is implied: `Stream.merged_of`.
    """

    base: int
    stored: int


@dataclass
class Stream:
    """One ingest stream."""

    id: str
    collector: str
    tokens: set[str] = field(default_factory=set)
    babies: list[ModelBaby] = field(default_factory=list)
    entries: dict[str, ModelEntry] = field(default_factory=dict)
    stopped: int | None = None
    deleted: int = -1
    # Where a nursery could not go on, and the babies that were given up.
    parked: int | None = None
    skipped: set[int] = field(default_factory=set)

    @property
    def committed(self) -> int:
        return len(self.babies) - 1

    @property
    def merged(self) -> int:
        """Up to here every entry has merged."""
        return min(map(self.merged_of, self.entries), default=self.committed)

    def merged_of(self, dataset_id: str) -> int:
        """The merged offset of an entry: all before the first baby that may be its own."""
        first = max(self.entries[dataset_id].stored, self.deleted) + 1
        for offset, baby in enumerate(self.babies[first:], first):
            if self._may_be_of(baby, dataset_id):
                return offset - 1
        return self.committed

    def _may_be_of(self, baby: ModelBaby, dataset_id: str) -> bool:
        """True too for a baby that a nursery has to read for what has no entry."""
        is_anyones = not baby.stamps or not self.entries.keys() >= set(baby.stamps)
        return baby.has_object and (is_anyones or dataset_id in baby.stamps)

    @property
    def floor(self) -> int:
        """No nursery reads a baby up to here again."""
        return self.merged if self.entries else self.deleted

    @property
    def is_retired(self) -> bool:
        return self.stopped is not None and not self.entries and self.deleted == self.stopped

    def refuses_commit(self, offset: int, facts: Facts) -> Refusal:
        if offset <= self.committed:
            return None if same_commit(self.babies[offset].facts, facts) else OffsetTaken
        if self.stopped is not None:
            return StreamStopped
        return OffsetGap if offset > self.committed + 1 else None

    def refuses_stop(self, final_offset: int) -> Refusal:
        if self.stopped is not None:
            return None if self.stopped == final_offset else StopMismatch
        is_next = final_offset in (self.committed, self.committed + 1)
        return None if is_next else StopMismatch

    def refuses_reap(self, offset: int) -> Refusal:
        return NotDrained if offset > max(self.merged, self.deleted) else None

    def refuses_merge(self, dataset_id: str, seen: int, merged: int, events: int) -> Refusal:
        entry = self.entries.get(dataset_id)
        if entry is None or not entry.stored <= seen <= self.merged_of(dataset_id):
            return OffsetConflict
        if merged > self.committed:
            return OffsetNotCommitted
        babies = self.babies[seen + 1 : merged + 1]
        is_counted = all(not baby.facts[1] or (baby.stamps and baby.facts[2]) for baby in babies)
        records = sum(b.facts[2] for b in babies if not b.stamps or dataset_id in b.stamps)
        return ExcessEvents if is_counted and events > records else None

    def refuses_removal(self, dataset_id: str, merged: int, routed: frozenset[str]) -> Refusal:
        """`routed` = where the stream's active tokens go."""
        entry = self.entries.get(dataset_id)
        if entry is None:
            return None
        is_awaited = any(baby.is_for(dataset_id) for baby in self.babies[self.deleted + 1 :])
        is_over = merged == self.stopped or dataset_id not in routed
        is_drained = entry.stored <= self.deleted == merged
        return None if is_drained and is_over and not is_awaited else NotDrained

    def add_entries(self, dataset_ids: frozenset[str], base: int) -> None:
        for dataset_id in dataset_ids - self.entries.keys():
            self.entries[dataset_id] = ModelEntry(base, base)


def same_commit(known: Facts, other: Facts) -> bool:
    """The facts agree, and the flush ids where both are given."""
    is_same_flush = not known[3] or not other[3] or known[3] == other[3]
    return known[:3] == other[:3] and is_same_flush
