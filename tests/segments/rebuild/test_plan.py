"""Telling a catalog from footers and babies: single cases, and any history."""

from dataclasses import replace

import pytest

from segments.inventory.contents import SegmentFound
from segments.keys import merged_prefix
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.spec import SegmentSpec
from segments.rebuild.exact_cover import choose, components
from segments.rebuild.spilled_segments import merge_count_of
from tests.support.inventories import (
    DATASET,
    STREAM,
    STREAMS,
    baby,
    divided,
    found,
    live_of,
    merged,
    merged_offset,
    planned,
    raw,
    uuid,
)

Ranges = tuple[tuple[int, int], ...]
A, B, C, D, E = (raw(n, (n, n)) for n in range(5))
AB, CD, BC = merged(10, A, B), merged(11, C, D), merged(12, B, C)
ABCD = merged(20, AB, CD)
# One merge, divided at day 5, and again at day 9; and a merge of one day's files.
AB_1, AB_2 = divided(30, 5, A, B)
AB_3, AB_4 = divided(31, 9, A, B)
AB_1C = merged(32, AB_1, C)
AB_21, AB_22 = divided(33, 9, AB_2, C)


@pytest.mark.parametrize(
    ("present", "live"),
    [
        pytest.param([A, B, C], [A, B, C], id="nothing is merged"),
        pytest.param([A, B, AB, C], [AB, C], id="an output supersedes its inputs"),
        pytest.param([A, AB, CD, ABCD, E], [ABCD, E], id="an output of outputs as well"),
        pytest.param([AB, C, D, BC, A], [AB, C, D], id="an abandoned output overlaps a live one"),
        pytest.param([BC, AB, A, D], [A, BC, D], id="the other way round"),
        pytest.param([A, B, C, AB_1, AB_2], [AB_1, AB_2, C], id="all outputs of a divided merge"),
        pytest.param([A, B, AB_1], [A, B], id="one output alone, the earlier"),
        pytest.param([A, B, AB_2], [A, B], id="one output alone, the later"),
        pytest.param([B, AB_1, AB_2], [AB_1, AB_2], id="an input is deleted already"),
        pytest.param([A, B, AB_1, AB_3, AB_4], [AB_3, AB_4], id="a second attempt, other days"),
        pytest.param([AB_2, AB_3, AB_4], [AB_3, AB_4], id="the second one is left"),
        pytest.param([AB_1C, AB_2], [AB_1C, AB_2], id="one output was merged on"),
        pytest.param([A, B, C, AB_1C, AB_2], [AB_1C, AB_2], id="its inputs are there still"),
        pytest.param([AB_1, AB_21, AB_22], [AB_1, AB_21, AB_22], id="divided again"),
        pytest.param([AB_1, AB_2, AB_21, C], [AB_1, AB_2, C], id="divided again, one is missing"),
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
    rebuilt = planned(present, [])

    assert live_of(rebuilt) == {one.key for one in live}
    assert not rebuilt.warnings


def test_a_datasets_settings_are_those_of_its_newest_live_segment() -> None:
    def at(one: SegmentFound, seconds: int, field: str) -> SegmentFound:
        spec = SegmentSpec((field,))
        return replace(one, modified_at_nanos=seconds * 10**9, spec=spec)

    rebuilt = planned([at(A, 9, "superseded"), at(B, 9, "superseded"), at(AB, 3, "newer"), C], [])

    assert live_of(rebuilt) == {AB.key, C.key}
    assert rebuilt.specs == {DATASET: C.spec}
    assert planned([AB, at(C, 8, "newest")], []).specs == {DATASET: SegmentSpec(("newest",))}


def test_an_entry_has_the_time_of_its_last_baby_in_whole_seconds() -> None:
    """The time of the newest segment stands for that of a baby that is gone."""
    babies = [replace(baby(0, DATASET), modified_at_nanos=5_900_000_000)]

    times = [
        entry.ingest_time_nanos
        for rebuilt in (planned([A], babies), planned([A], []))
        for stream in rebuilt.streams
        for entry in stream.entries
    ]

    assert times == [5_000_000_000, 7_000_000_000]


@pytest.mark.parametrize(
    ("inputs", "count"), [(1, 1), (16, 1), (17, 2), (257, 3), (4_097, 4), (70_000, 4)]
)
def test_rows_were_merged_as_often_as_that_many_batches_need(inputs: int, count: int) -> None:
    batches = tuple(BatchPart(f"b{number}", 1, 1) for number in range(inputs))
    segment = merged(1, A)

    assert merge_count_of(A) == 0
    assert (
        merge_count_of(replace(segment, footer=replace(segment.footer, batches=batches))) == count
    )


def test_a_larger_batch_does_not_win_over_the_one_that_was_registered_before() -> None:
    babies = [baby(offset, DATASET) for offset in range(6, 15)]

    rebuilt = planned([raw(1, (0, 5)), raw(2, (5, 14))], babies)

    assert live_of(rebuilt) == {raw(1).key}
    assert merged_offset(rebuilt) == 5


def test_a_batch_beyond_a_baby_that_nothing_holds_does_not_win_over_a_registered_one() -> None:
    """A nursery died between two batches: the larger one would be dropped after the choice."""
    abandoned, registered = raw(1, (0, 0), (6, 6)), raw(2, (0, 0))
    babies = [baby(offset) for offset in range(1, 5)] + [baby(5, DATASET), baby(6, DATASET)]

    rebuilt = planned([abandoned, registered], babies)

    assert live_of(rebuilt) == {registered.key}
    assert merged_offset(rebuilt) == 4
    assert not rebuilt.warnings


def test_a_batch_covers_what_any_of_its_files_covers() -> None:
    first = raw(1, (0, 0), part=1, parts=0, batch="x")
    last = raw(2, (0, 2), part=2, parts=2, batch="x")

    rebuilt = planned([first, last], [baby(offset, DATASET) for offset in range(4)])

    assert live_of(rebuilt) == {first.key, last.key}
    assert merged_offset(rebuilt) == 2


def test_files_of_a_batch_whose_last_was_never_written_are_dropped_for_their_babies() -> None:
    parts = [raw(1, (0, 0), part=1, parts=0, batch="x"), raw(2, (0, 2), part=2, parts=0, batch="x")]

    rebuilt = planned(parts, [baby(offset, DATASET) for offset in range(4)])

    assert live_of(rebuilt) == set()
    assert merged_offset(rebuilt) == -1


def test_offsets_end_below_a_baby_that_nobody_has_merged() -> None:
    babies = [baby(0, DATASET), baby(1), baby(2, DATASET), baby(3, DATASET), baby(4)]

    rebuilt = planned([raw(1, (0, 0)), raw(2, (3, 3))], babies)

    assert live_of(rebuilt) == {raw(1).key}
    assert merged_offset(rebuilt) == 1
    assert (rebuilt.streams[0].committed_offset, rebuilt.streams[0].deleted_offset) == (4, -1)


def test_what_a_merge_took_in_was_registered_whatever_the_babies_say() -> None:
    rebuilt = planned(
        [merged(9, raw(1, (0, 0)), raw(2, (3, 3)))], [baby(n, DATASET) for n in (2, 3)]
    )

    assert merged_offset(rebuilt) == 3
    assert rebuilt.streams[0].deleted_offset == 1


def test_offsets_pass_babies_without_records_of_the_dataset() -> None:
    rebuilt = planned([raw(1, (4, 4))], [baby(4, DATASET), baby(5), baby(6, stop=True), baby(7)])

    assert merged_offset(rebuilt) == 6
    assert rebuilt.streams[0].committed_offset == 6


def test_a_dataset_without_segments_comes_back_for_its_babies() -> None:
    rebuilt = planned([], [baby(0, DATASET)])

    assert rebuilt.dataset_ids == (DATASET,)
    assert merged_offset(rebuilt) == -1


def test_babies_of_nobody_knows_whom_wait() -> None:
    rebuilt = planned([raw(1, (0, 0))], [baby(0, DATASET), baby(1, unknown=True)])

    assert merged_offset(rebuilt) == 0


def test_babies_beyond_a_hole_were_never_acknowledged() -> None:
    rebuilt = planned([], [baby(0, DATASET), baby(1, DATASET), baby(3, DATASET)])

    assert rebuilt.streams[0].committed_offset == 1


def test_a_missing_segment_is_told() -> None:
    spans = (OffsetSpan(STREAM, 2, 2), OffsetSpan(STREAMS[1], 5, 5))
    footer = SegmentFooter(DATASET, "nursery", (BatchPart("x", 1, 1),), spans)
    lone = found(f"{merged_prefix(DATASET)}{uuid(1)}.parquet", footer)

    rebuilt = planned([lone], [baby(1, DATASET), baby(2, DATASET)])

    assert not rebuilt.segments
    assert "a segment must be missing" in rebuilt.warnings[0]


def test_segments_of_another_making_are_skipped() -> None:
    foreign = found(f"{merged_prefix(uuid(5))}{uuid(1)}.parquet", A.footer)

    rebuilt = planned([foreign], [])

    assert [one.reason.split(":")[0] for one in rebuilt.dropped] == ["foreign"]


def test_packing_skips_as_little_as_it_can() -> None:
    options = {"x": frozenset("abcd"), "y": frozenset("cdefg"), "z": frozenset("b")}

    assert choose(options) == frozenset({"y", "z"})
    groups = components({**options, "w": frozenset("q")})
    assert [sorted(group) for group in groups] == [["x", "y", "z"], ["w"]]
