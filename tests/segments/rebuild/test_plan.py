"""Telling a catalog from footers and babies: single cases, and any history."""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.keys import attempt_prefix, merged_prefix
from segments.offsets import OffsetSpan
from segments.parquet.footer import BatchPart, SegmentFooter, merged_footer
from segments.parquet.schema import SegmentSpec
from segments.rebuild.exact_cover import choose, components
from segments.rebuild.plan import BabyFound, Rebuild, SegmentFound, plan

DATASET = "0198a7c0-0000-7000-8000-00000000000d"
STREAMS = ("0198a7c0-0000-7000-8000-0000000000a1", "0198a7c0-0000-7000-8000-0000000000a2")
STREAM = STREAMS[0]
Ranges = tuple[tuple[int, int], ...]


def uuid(number: int) -> str:
    return f"0198a7c0-0000-7000-8000-{number:012x}"


def found(key: str, footer: SegmentFooter) -> SegmentFound:
    return SegmentFound(key, footer, 1, 0, 0, 1, 1, 7_500_000_000, SegmentSpec())


def raw(
    number: int, *ranges: tuple[int, int], part: int = 1, parts: int = 1, batch: str = ""
) -> SegmentFound:
    """Make a nursery's file of STREAM; `number` makes its name and, unless given, its batch's."""
    spans = tuple(OffsetSpan(STREAM, start, end) for start, end in ranges)
    footer = SegmentFooter(
        DATASET, "nursery", (BatchPart(batch or f"b{number}", part, parts),), spans
    )
    return found(f"{merged_prefix(DATASET)}{uuid(number)}.parquet", footer)


def merged(number: int, *inputs: SegmentFound) -> SegmentFound:
    footer = merged_footer(DATASET, "merge", [one.footer for one in inputs])
    return found(f"{attempt_prefix(DATASET, uuid(number), 1)}{uuid(number)}.parquet", footer)


def baby(
    offset: int, *dataset_ids: str, stream: str = STREAM, unknown: bool = False, stop: bool = False
) -> BabyFound:
    stamps = None if unknown else frozenset(dataset_ids)
    return BabyFound(stream, offset, stamps, 1, 0, 0, 1, b"", stop, 0)


def live_of(rebuilt: Rebuild) -> set[str]:
    return {one.found.key for one in rebuilt.segments}


def merged_offset(rebuilt: Rebuild, stream: str = STREAM) -> int:
    (entry,) = next(s for s in rebuilt.streams if s.stream_id == stream).entries
    return entry.merged_offset


A, B, C, D, E = (raw(n, (n, n)) for n in range(5))
AB, CD, BC = merged(10, A, B), merged(11, C, D), merged(12, B, C)
ABCD = merged(20, AB, CD)


@pytest.mark.parametrize(
    ("present", "live"),
    [
        pytest.param([A, B, C], [A, B, C], id="nothing is merged"),
        pytest.param([A, B, AB, C], [AB, C], id="an output supersedes its inputs"),
        pytest.param([A, AB, CD, ABCD, E], [ABCD, E], id="an output of outputs as well"),
        pytest.param([AB, C, D, BC, A], [AB, C, D], id="an abandoned output overlaps a live one"),
        pytest.param([BC, AB, A, D], [A, BC, D], id="the other way round"),
        pytest.param([raw(1, (0, 4)), raw(2, (0, 4))], [raw(2, (0, 4))], id="written twice"),
        pytest.param(
            [raw(1, (0, 4)), raw(2, (0, 2)), raw(3, (3, 9))],
            [raw(2, (0, 2)), raw(3, (3, 9))],
            id="two cover more than the one they overlap",
        ),
        pytest.param(
            [
                raw(1, (0, 1), part=1, parts=0, batch="x"),
                raw(2, (0, 1), part=2, batch="x", parts=2),
            ],
            [raw(1, (0, 1)), raw(2, (0, 1))],
            id="all parts of a batch",
        ),
        pytest.param(
            [
                raw(1, (0, 0), part=1, parts=0, batch="x"),
                raw(2, (0, 2), part=2, batch="x", parts=2),
                raw(3, (3, 3)),
            ],
            [raw(1, (0, 0)), raw(2, (0, 2)), raw(3, (3, 3))],
            id="a baby that spreads over files",
        ),
        pytest.param(
            [raw(1, (0, 1), part=1, parts=0, batch="x"), raw(2, (0, 3))],
            [raw(2, (0, 3))],
            id="the last part is missing",
        ),
        pytest.param(
            [raw(2, (0, 1), part=2, parts=2, batch="x")],
            [raw(2, (0, 1))],
            id="retention took a part, the babies are gone",
        ),
    ],
)
def test_live_segments_hold_each_part_once(
    present: list[SegmentFound], live: list[SegmentFound]
) -> None:
    rebuilt = plan(present, [])

    assert live_of(rebuilt) == {one.key for one in live}
    assert not rebuilt.warnings


def test_a_datasets_settings_are_those_of_its_newest_live_segment() -> None:
    def at(one: SegmentFound, seconds: int, field: str) -> SegmentFound:
        spec = SegmentSpec((field,))
        return replace(one, modified_at_nanos=seconds * 10**9, spec=spec)

    rebuilt = plan([at(A, 9, "superseded"), at(B, 9, "superseded"), at(AB, 3, "newer"), C], [])

    assert live_of(rebuilt) == {AB.key, C.key}
    assert rebuilt.specs == {DATASET: C.spec}
    assert plan([AB, at(C, 8, "newest")], []).specs == {DATASET: SegmentSpec(("newest",))}


def test_a_larger_batch_does_not_win_over_the_one_that_was_registered_before() -> None:
    babies = [baby(offset, DATASET) for offset in range(6, 15)]

    rebuilt = plan([raw(1, (0, 5)), raw(2, (5, 14))], babies)

    assert live_of(rebuilt) == {raw(1).key}
    assert merged_offset(rebuilt) == 5


def test_a_batch_covers_what_any_of_its_files_covers() -> None:
    first = raw(1, (0, 0), part=1, parts=0, batch="x")
    last = raw(2, (0, 2), part=2, parts=2, batch="x")

    rebuilt = plan([first, last], [baby(offset, DATASET) for offset in range(4)])

    assert live_of(rebuilt) == {first.key, last.key}
    assert merged_offset(rebuilt) == 2


def test_files_of_a_batch_whose_last_was_never_written_are_dropped_for_their_babies() -> None:
    parts = [raw(1, (0, 0), part=1, parts=0, batch="x"), raw(2, (0, 2), part=2, parts=0, batch="x")]

    rebuilt = plan(parts, [baby(offset, DATASET) for offset in range(4)])

    assert live_of(rebuilt) == set()
    assert merged_offset(rebuilt) == -1


def test_offsets_end_below_a_baby_that_nobody_has_merged() -> None:
    babies = [baby(0, DATASET), baby(1), baby(2, DATASET), baby(3, DATASET), baby(4)]

    rebuilt = plan([raw(1, (0, 0)), raw(2, (3, 3))], babies)

    assert live_of(rebuilt) == {raw(1).key}
    assert merged_offset(rebuilt) == 1
    assert (rebuilt.streams[0].committed_offset, rebuilt.streams[0].deleted_offset) == (4, -1)


def test_what_a_merge_took_in_was_registered_whatever_the_babies_say() -> None:
    rebuilt = plan([merged(9, raw(1, (0, 0)), raw(2, (3, 3)))], [baby(n, DATASET) for n in (2, 3)])

    assert merged_offset(rebuilt) == 3
    assert rebuilt.streams[0].deleted_offset == 1


def test_offsets_pass_babies_without_records_of_the_dataset() -> None:
    rebuilt = plan([raw(1, (4, 4))], [baby(4, DATASET), baby(5), baby(6, stop=True), baby(7)])

    assert merged_offset(rebuilt) == 6
    assert rebuilt.streams[0].committed_offset == 6


def test_a_dataset_without_segments_comes_back_for_its_babies() -> None:
    rebuilt = plan([], [baby(0, DATASET)])

    assert rebuilt.dataset_ids == (DATASET,)
    assert merged_offset(rebuilt) == -1


def test_babies_of_nobody_knows_whom_wait() -> None:
    rebuilt = plan([raw(1, (0, 0))], [baby(0, DATASET), baby(1, unknown=True)])

    assert merged_offset(rebuilt) == 0


def test_babies_beyond_a_hole_were_never_acknowledged() -> None:
    rebuilt = plan([], [baby(0, DATASET), baby(1, DATASET), baby(3, DATASET)])

    assert rebuilt.streams[0].committed_offset == 1


def test_a_missing_segment_is_told() -> None:
    spans = (OffsetSpan(STREAM, 2, 2), OffsetSpan(STREAMS[1], 5, 5))
    footer = SegmentFooter(DATASET, "nursery", (BatchPart("x", 1, 1),), spans)
    lone = found(f"{merged_prefix(DATASET)}{uuid(1)}.parquet", footer)

    rebuilt = plan([lone], [baby(1, DATASET), baby(2, DATASET)])

    assert not rebuilt.segments
    assert "a segment must be missing" in rebuilt.warnings[0]


def test_segments_of_another_making_are_left_out() -> None:
    foreign = found(f"{merged_prefix(uuid(5))}{uuid(1)}.parquet", A.footer)

    rebuilt = plan([foreign], [])

    assert [one.reason.split(":")[0] for one in rebuilt.dropped] == ["foreign"]


def test_packing_leaves_out_as_little_as_it_can() -> None:
    options = {"x": frozenset("abcd"), "y": frozenset("cdefg"), "z": frozenset("b")}

    assert choose(options) == frozenset({"y", "z"})
    groups = components({**options, "w": frozenset("q")})
    assert [sorted(group) for group in groups] == [["x", "y", "z"], ["w"]]


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
