"""A rebuild after any history of merges and deletions keeps every record once."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from segments.keys import attempt_prefix, merged_prefix
from segments.offsets import OffsetSpan
from segments.parquet.footer import BatchPart, SegmentFooter, merged_footer
from segments.rebuild.plan import BabyFound, SegmentFound, plan
from tests.support.inventories import (
    DATASET,
    STREAMS,
    baby,
    found,
    live_of,
    uuid,
)


@dataclass
class World:
    """A run: what the bucket holds, and what meta knew. A record is (stream, offset, part)."""

    draw: st.DataObject
    stamps: dict[str, list[bool]] = field(default_factory=lambda: {s: [] for s in STREAMS})
    reaped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, -1))
    merged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, -1))
    parts: dict[str, int] = field(default_factory=dict)
    records: dict[str, Counter[tuple[str, int, int]]] = field(default_factory=dict)
    bucket: dict[str, SegmentFound] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
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
            if self.stamps[s][o]
        ]
        is_crash = self.flip()
        split = [o for o in offsets if len(offsets) < 2 or self.flip()]
        written = []
        for share in (split, [o for o in offsets if o not in split]):
            if share and not (is_crash and self.flip()):
                written += self.write_batch(share, is_cut=is_crash and self.flip())
        if not is_crash:
            self.live |= set(written)
            self.merged |= ends

    def write_batch(self, share: list[tuple[str, int]], *, is_cut: bool) -> list[str]:
        batch_id, parts = self.new_id(), self.pick(1, 2)
        keys = []
        for part in range(1, parts + 1 - is_cut):
            batch = BatchPart(batch_id, part, parts if part == parts else 0)
            spans = tuple(OffsetSpan(s, o, o) for s, o in share)
            footer = SegmentFooter(DATASET, "nursery", (batch,), spans)
            # A baby's records lie on one day or the other.
            held = Counter((s, o, n) for s, o in share for n in (1, 2) if min(n, parts) == part)
            key = f"{merged_prefix(DATASET)}{self.new_id()}.parquet"
            self.add(key, footer, held)
            keys.append(key)
        return keys

    def add(self, key: str, footer: SegmentFooter, held: Counter[tuple[str, int, int]]) -> None:
        self.bucket[key] = found(key, footer)
        self.records[key] = held

    def merge(self) -> None:
        inputs = [key for key in sorted(self.live) if self.flip()]
        if not inputs:
            return
        key = f"{attempt_prefix(DATASET, self.new_id(), 1)}{self.new_id()}.parquet"
        footer = merged_footer(DATASET, "merge", [self.bucket[k].footer for k in inputs])
        self.add(key, footer, sum((self.records[k] for k in inputs), Counter()))
        if self.flip():
            self.live -= set(inputs)
            self.live.add(key)

    def collect(self) -> None:
        """Delete some of what is tombstoned, and reap; orphans are younger."""
        registered = set(self.bucket) - self.live
        held = sum((self.records[k] for k in self.live), Counter())
        for key in sorted(registered):
            if not self.records[key] - held and self.flip():
                del self.bucket[key]

    def reap(self) -> None:
        for stream in STREAMS:
            self.reaped[stream] = self.pick(self.reaped[stream], self.merged[stream])

    def babies(self) -> list[BabyFound]:
        return [
            baby(offset, *([DATASET] if is_stamped else []), stream=stream)
            for stream, stamps in self.stamps.items()
            for offset, is_stamped in enumerate(stamps)
            if offset > self.reaped[stream]
        ]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_history_comes_back_with_every_record_once(data: st.DataObject) -> None:
    world = World(data)
    steps = (world.commit, world.nursery, world.merge, world.collect, world.reap)
    world.commit()
    for step in data.draw(st.lists(st.sampled_from(steps), max_size=14)):
        step()

    rebuilt = plan(list(world.bucket.values()), world.babies())

    offsets = {s.stream_id: {e.merged_offset for e in s.entries} for s in rebuilt.streams}
    tops = {s: max(offsets.get(s, set()), default=-1) for s in STREAMS}
    visible = sum((world.records[key] for key in live_of(rebuilt)), Counter())
    assert visible == Counter(
        (stream, offset, part)
        for stream, stamps in world.stamps.items()
        for offset, is_stamped in enumerate(stamps[: tops[stream] + 1])
        if is_stamped
        for part in (1, 2)
    )
    # What was registered is seen, or its babies are there and are merged again: where a batch that
    # was written in full and never registered overlaps it, the bucket does not tell them apart.
    registered = sum((world.records[key] for key in world.live), Counter())
    assert all(offset > world.reaped[stream] for stream, offset, _ in registered - visible)
    assert not rebuilt.warnings
