"""Ingest streams as the planner needs them: offsets, baby segments, routing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dataplane.babies.reads import Period

# Assumed size of a baby whose facts meta did not send; there are few.
UNKNOWN_BABY_BYTES = 1024 * 1024
_UNKNOWN_BABIES_MAX = 64


@dataclass(frozen=True, slots=True)
class BabyFacts:
    """One committed baby segment; without dataset ids it may hold records of any dataset."""

    offset: int
    size_bytes: int
    committed_at: int
    dataset_ids: frozenset[str]
    # Its commit states no record, so nothing is lost with its object.
    is_empty: bool = False
    # Records of all datasets; 0 if the commit did not state them.
    num_records: int = 0


@dataclass(frozen=True, slots=True)
class IngestStream:
    """One ingest stream: the merged offset of each dataset, and the babies above the lowest.

    `waiting` datasets are not merged now: their babies stay for later, and hold up no other
    dataset.
    """

    stream_id: str
    committed_offset: int
    merged: Mapping[str, int]
    babies: tuple[BabyFacts, ...] = ()
    is_stopped: bool = False
    periods: tuple[Period, ...] = ()
    waiting: frozenset[str] = frozenset()
    # The offsets at which entries began, if that is not the beginning of the stream.
    bases: Mapping[str, int] = field(default_factory=dict)
    # Entries that have merged all that is committed may be missing in `merged`.
    omits_merged: bool = False

    @property
    def merged_floor(self) -> int:
        """The smallest merged offset; -1 without entries."""
        return min(self.merged.values(), default=self.committed_offset if self.omits_merged else -1)

    def entry_bases(self) -> Mapping[str, int]:
        """The offset at which each entry began."""
        return {dataset_id: self.bases.get(dataset_id, -1) for dataset_id in self.merged}

    def _merged_of(self, dataset_id: str, baby: BabyFacts) -> int | None:
        """The merged offset of a dataset; None if its entry, if it has one, began later."""
        if self.bases.get(dataset_id, -1) >= baby.offset:
            return None
        return self.merged.get(dataset_id)

    def mergeable(self) -> Mapping[str, int]:
        """Merged offset of each dataset that can be merged now."""
        return {d: merged for d, merged in self.merged.items() if d not in self.waiting}

    def unmerged(self) -> Iterator[BabyFacts]:
        """Yield committed babies above the lowest mergeable offset, few of them without facts."""
        mergeable = self.mergeable()
        if not mergeable:
            return
        babies = {baby.offset: baby for baby in self.babies}
        first = min(mergeable.values()) + 1
        last = max(babies, default=first + _UNKNOWN_BABIES_MAX - 1)
        for offset in range(first, min(last, self.committed_offset) + 1):
            yield babies.get(offset) or BabyFacts(offset, UNKNOWN_BABY_BYTES, 0, frozenset())

    def oldest_wait(self) -> int | None:
        """Commit time of the oldest baby that a dataset has yet to merge; None if there is none."""
        waiting = (b.committed_at for b in self.unmerged() if b.committed_at and self.readers(b))
        return min(waiting, default=None)

    def readers(self, baby: BabyFacts) -> frozenset[str] | None:
        """The datasets that a baby is read for; None if it need not be read.

        Empty: it is read only to quarantine records of datasets that the stream has no entry for.
        """
        if not baby.dataset_ids:
            return frozenset(d for d, merged in self.mergeable().items() if merged < baby.offset)
        stamped = {d: self._merged_of(d, baby) for d in baby.dataset_ids}
        merged = {d: m for d, m in stamped.items() if m is None or d not in self.waiting}
        wanting = frozenset(d for d, m in merged.items() if m is not None and m < baby.offset)
        return wanting if wanting or None in merged.values() else None

    def is_partly_merged(self, baby: BabyFacts) -> bool:
        """Whether a dataset of the baby has merged it, so that it has been read before."""
        dataset_ids = baby.dataset_ids or self.merged.keys()
        merged = (self._merged_of(dataset_id, baby) for dataset_id in dataset_ids)
        return any(offset is not None and offset >= baby.offset for offset in merged)


@dataclass(frozen=True, slots=True)
class BabyRead:
    """A baby segment to read, the datasets that it is read for, and how many tasks may read it."""

    baby: BabyFacts
    readers: frozenset[str]
    readers_max: int = 1
