"""Ingest streams as a nursery sees them: offsets, baby segments, routing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Offsets whose facts meta did not send are few and read as if they were of this size.
UNKNOWN_BABY_BYTES = 1024 * 1024
_UNKNOWN_BABIES_MAX = 64


@dataclass(frozen=True, slots=True)
class BabyFacts:
    """One committed baby segment. No dataset ids: it may hold records of any dataset."""

    offset: int
    size_bytes: int
    committed_at: int
    dataset_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Period:
    """A token's routing (signal -> dataset id) from an offset of one stream on."""

    token_id: str
    from_offset: int
    routes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stream:
    """One ingest stream: merged offset by dataset, and what is above the smallest of them."""

    stream_id: str
    committed_offset: int
    merged: Mapping[str, int]
    babies: tuple[BabyFacts, ...] = ()
    is_stopped: bool = False
    periods: tuple[Period, ...] = ()

    def unmerged(self) -> Iterator[BabyFacts]:
        """Every committed baby above the smallest merged offset that is known well enough."""
        if not self.merged:
            return
        known = {baby.offset: baby for baby in self.babies}
        first = min(self.merged.values()) + 1
        last = max(known, default=first + _UNKNOWN_BABIES_MAX - 1)
        for offset in range(first, min(last, self.committed_offset) + 1):
            yield known.get(offset) or BabyFacts(offset, UNKNOWN_BABY_BYTES, 0, frozenset())

    def oldest_wait(self) -> int | None:
        """When the oldest baby that a dataset still waits for was committed; None if none is."""
        waiting = (b.committed_at for b in self.unmerged() if b.committed_at and self.readers(b))
        return min(waiting, default=None)

    def readers(self, baby: BabyFacts) -> frozenset[str] | None:
        """Datasets that a baby must be read for; None if nobody needs it.

        Empty: only to put aside records of a dataset that the stream has no entry for.
        """
        if not baby.dataset_ids:
            return frozenset(d for d, merged in self.merged.items() if merged < baby.offset)
        merged = {d: self.merged.get(d) for d in baby.dataset_ids}
        wanting = frozenset(d for d, m in merged.items() if m is not None and m < baby.offset)
        return wanting if wanting or None in merged.values() else None


@dataclass(frozen=True, slots=True)
class BabyRead:
    """A baby segment to read, and the datasets that it is read for."""

    baby: BabyFacts
    readers: frozenset[str]
