"""Any history of a dataset's nursery, merges and deletions, as its bucket shows it."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st

from segments.inventory.contents import SegmentFound
from segments.inventory.streams import BabyFound
from segments.keys import attempt_prefix, merged_prefix
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFooter, footer_of_days, merged_footer
from segments.parquet.lineage import DAY_MAX, DAY_MIN, BatchPart
from tests.support.inventories import DATASET, STREAMS, baby, found, uuid

# A record is (stream, offset, part, day).
Held = Counter[tuple[str, int, int, int]]
DAYS = range(3)


@dataclass
class World:
    """A run: what the bucket holds, and what meta knew."""

    draw: st.DataObject
    stamps: dict[str, list[bool]] = field(default_factory=lambda: {s: [] for s in STREAMS})
    reaped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, -1))
    merged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, -1))
    parts: dict[str, int] = field(default_factory=dict)
    records: dict[str, Held] = field(default_factory=dict)
    bucket: dict[str, SegmentFound] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    # Live ones, and those that were.
    registered: set[str] = field(default_factory=set)
    count: int = 0

    def pick(self, low: int, high: int) -> int:
        return int(self.draw.draw(st.integers(low, high)))

    def flip(self) -> bool:
        return bool(self.draw.draw(st.booleans()))

    def new_id(self) -> str:
        self.count += 1
        return uuid(self.count)

    def commit(self) -> None:
        for stream in STREAMS:
            self.stamps[stream] += [self.flip() for _ in range(self.pick(0, 4))]

    def nursery(self) -> None:
        """Merge some streams up to some offset, as several batches; crash before, or register."""
        ends = {
            s: self.pick(self.merged[s], len(self.stamps[s]) - 1)
            for s in STREAMS
            if self.merged[s] < len(self.stamps[s]) - 1
        }
        offsets = [
            (s, o)
            for s, end in ends.items()
            for o in range(self.merged[s] + 1, end + 1)
            # After a rollback a baby that is gone is a filler.
            if self.stamps[s][o] and o > self.reaped[s]
        ]
        is_crash = self.flip()
        split = [o for o in offsets if len(offsets) < 2 or self.flip()]
        written = []
        for share in (split, [o for o in offsets if o not in split]):
            if share and not (is_crash and self.flip()):
                written += self.write_batch(share, is_cut=is_crash and self.flip())
        if not is_crash:
            self.live |= set(written)
            self.registered |= set(written)
            self.merged |= ends

    def write_batch(self, share: list[tuple[str, int]], *, is_cut: bool) -> list[str]:
        batch_id, parts = self.new_id(), self.pick(1, 2)
        keys = []
        for part in range(1, parts + 1 - is_cut):
            batch = BatchPart(batch_id, part, parts if part == parts else 0)
            spans = tuple(OffsetSpan(s, o, o) for s, o in share)
            footer = SegmentFooter(DATASET, "nursery", (batch,), spans)
            # A baby's records lie in one file of the batch or the other.
            held = Counter(
                (s, o, n, day)
                for s, o in share
                for n in (1, 2)
                if min(n, parts) == part
                for day in DAYS
            )
            key = f"{merged_prefix(DATASET)}{self.new_id()}.parquet"
            self.add(key, footer, held)
            keys.append(key)
        return keys

    def add(self, key: str, footer: SegmentFooter, held: Held) -> None:
        self.bucket[key] = found(key, footer)
        self.records[key] = held

    def merge(self) -> None:
        inputs = [key for key in sorted(self.live) if self.flip()]
        if not inputs:
            return
        prefix = attempt_prefix(DATASET, self.new_id(), 1)
        footer = merged_footer(DATASET, "merge", [self.bucket[k].footer for k in inputs])
        held = sum((self.records[k] for k in inputs), Held())
        is_crash = self.flip()
        keys = []
        for first, last in self.days_of_outputs(held):
            key = f"{prefix}{self.new_id()}.parquet"
            own = Held({record: n for record, n in held.items() if first <= record[3] <= last})
            # A crash between the puts leaves any of them.
            if not (is_crash and self.flip()):
                self.add(key, footer_of_days(footer, first, last), own)
                keys.append(key)
        if not is_crash:
            self.live -= set(inputs)
            self.live |= set(keys)
            self.registered |= set(keys)

    def days_of_outputs(self, held: Held) -> list[tuple[int, int]]:
        """Divide all days such that each output has records."""
        starts = [day for day in sorted({record[3] for record in held})[1:] if self.flip()]
        return list(zip((DAY_MIN, *starts), (*(day - 1 for day in starts), DAY_MAX), strict=True))

    def collect(self) -> None:
        """Delete some of what is tombstoned, and reap; orphans are younger."""
        dead = set(self.bucket) - self.live
        held = sum((self.records[k] for k in self.live), Held())
        for key in sorted(dead):
            if not self.records[key] - held and self.flip():
                del self.bucket[key]

    def reap(self) -> None:
        for stream in STREAMS:
            # After a rollback more is reaped than is merged.
            reaped = self.reaped[stream]
            self.reaped[stream] = self.pick(reaped, max(reaped, self.merged[stream]))

    def babies(self) -> list[BabyFound]:
        return [
            baby(offset, *([DATASET] if is_stamped else []), stream=stream)
            for stream, stamps in self.stamps.items()
            for offset, is_stamped in enumerate(stamps)
            if offset > self.reaped[stream]
        ]
