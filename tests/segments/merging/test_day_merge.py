"""Merges that are divided by day: every row once, in the file of its day, in order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segments.location import StoreLocation
from segments.merging.day_merge import DaySpan, MergedFiles, day_spans, merge_by_day
from segments.merging.inputs import MergeInput
from segments.merging.merge import InputFailed
from segments.parquet import row_groups
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import DAY_MAX, DAY_MIN, BatchPart, day_of, joined
from segments.parquet.reader import SegmentFile
from segments.parquet.schema import sort_columns
from segments.parquet.sorting import sort_by
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segments.store.open import open_store
from tests.support.parquet.rows import DATASET, PLAIN, plain, rows_of
from tests.support.parquet.shelf import Shelf, order

DAY = 86_400 * 10**9
BY_SEVERITY = SegmentSpec(("severity_text", "metric_name"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return _shelf(tmp_path)


def _shelf(folder: Path) -> Shelf:
    (folder / "store").mkdir()
    return Shelf(open_store(StoreLocation.from_url(f"file://{folder}/store")), folder)


def rows_on(signal: Signal, days: list[int], seed: int = 0) -> pa.Table:
    """One row a listed day, at some time of it; unsorted."""
    table = rows_of(signal, len(days), seed=seed)
    times = [day * DAY + (7919 * n) % DAY for n, day in enumerate(days)]
    column = pa.array(times, pa.int64()).cast(pa.timestamp("ns", "UTC"))
    return table.set_column(table.schema.get_field_index("timestamp"), "timestamp", column).cast(
        table.schema
    )


def put(
    shelf: Shelf, tables: dict[Signal, pa.Table], batch: str = "b", spec: SegmentSpec = PLAIN
) -> MergeInput:
    return shelf.put(tables, spec, SegmentFooter(DATASET, "n", (BatchPart(batch, 1, 1),)))


def divide(
    shelf: Shelf, inputs: list[MergeInput], outputs_max: int, spec: SegmentSpec = PLAIN
) -> MergedFiles:
    out = shelf.folder / "out"
    out.mkdir()
    return merge_by_day(shelf.store, inputs, order(spec), out, outputs_max)


def test_each_day_has_its_own_file_and_nothing_else_stays(shelf: Shelf) -> None:
    inputs = [
        put(shelf, {"logs": rows_on("logs", [5, 3, -1, 3], 1)}, "a"),
        put(shelf, {"traces": rows_on("traces", [3, 5], 2), "logs": rows_on("logs", [0], 3)}, "b"),
    ]

    merged = divide(shelf, inputs, 64)

    found = []
    for file in merged.files:
        with SegmentFile(file.path) as segment:
            found.append((segment.days(), dict(segment.stored.rows_by_signal)))
            assert segment.stored.rows == file.facts.rows
    assert found == [
        ({-1}, {"logs": 1}),
        ({0}, {"logs": 1}),
        ({3}, {"logs": 2, "traces": 1}),
        ({5}, {"logs": 1, "traces": 1}),
    ]
    names = {path.name for path in (shelf.folder / "out").iterdir()}
    assert names == {file.path.name for file in merged.files}


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    days=st.lists(st.lists(st.integers(-3, 9), min_size=1, max_size=25), min_size=1, max_size=4),
    outputs_max=st.integers(1, 6),
    spec=st.sampled_from([PLAIN, BY_SEVERITY]),
    group_rows=st.integers(1, 20),
)
def test_any_merge_divides_into_the_sorted_bag_of_its_rows(
    days: list[list[int]], outputs_max: int, spec: SegmentSpec, group_rows: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_groups, "GROUP_ROWS_MAX", group_rows)
        shelf = _shelf(Path(folder))
        tables = [rows_on("logs", own, seed) for seed, own in enumerate(days)]
        inputs = [put(shelf, {"logs": table}, f"b{n}") for n, table in enumerate(tables)]

        merged = divide(shelf, inputs, outputs_max, spec)

        rows = Counter[object]()
        held: list[set[int]] = []
        lineage: list[BatchPart] = []
        for file in merged.files:
            with SegmentFile(file.path) as segment:
                table = pa.Table.from_batches(segment.batches("logs", 50))
                held.append(segment.days())
                lineage += segment.stored.footer.batches
            rows.update(plain(table))
            keys = sort_columns(spec, "logs")
            assert plain(table.select(keys)) == plain(sort_by(table, keys).select(keys))
    assert rows == Counter(row for table in tables for row in plain(table))
    distinct = {day for own in days for day in own}
    assert len(held) == min(outputs_max, len(distinct))
    assert sorted(day for own in held for day in own) == sorted(distinct)
    assert joined(lineage) == tuple(BatchPart(f"b{n}", 1, 1) for n in range(len(days)))


@pytest.mark.parametrize(
    ("days", "most", "spans"),
    [
        pytest.param([7], 64, [(DAY_MIN, DAY_MAX)], id="one day"),
        pytest.param([3, 9], 64, [(DAY_MIN, 8), (9, DAY_MAX)], id="two days"),
        pytest.param([3, 9], 2, [(DAY_MIN, 8), (9, DAY_MAX)], id="as many as allowed"),
        pytest.param([3, 4, 9], 2, [(DAY_MIN, 8), (9, DAY_MAX)], id="one more"),
        pytest.param([3, 4], 1, [(DAY_MIN, DAY_MAX)], id="one output"),
    ],
)
def test_the_newest_days_are_alone_and_older_ones_share_a_file(
    days: list[int], most: int, spans: list[tuple[int, int]]
) -> None:
    assert day_spans(days, most) == [DaySpan(*span) for span in spans]


def test_at_the_limit_each_day_is_alone_and_one_day_more_shares_a_file(shelf: Shelf) -> None:
    at_limit = put(shelf, {"logs": rows_on("logs", list(range(64)))}, "a")
    beyond = put(shelf, {"logs": rows_on("logs", list(range(65)))}, "b")

    alone = merge_by_day(shelf.store, [at_limit], order(), _folder(shelf, "one"), 64)
    shared = merge_by_day(shelf.store, [beyond], order(), _folder(shelf, "two"), 64)

    assert [file.facts.rows for file in alone.files] == [1] * 64
    assert [file.facts.rows for file in shared.files] == [2] + [1] * 63


def _folder(shelf: Shelf, name: str) -> Path:
    (shelf.folder / name).mkdir()
    return shelf.folder / name


def test_outputs_that_are_merged_and_divided_again_keep_their_days(shelf: Shelf) -> None:
    first = put(shelf, {"logs": rows_on("logs", [1, 2, 3, 4])}, "a")
    other = put(shelf, {"logs": rows_on("logs", [2, 3], 9)}, "b")
    apart = merge_by_day(shelf.store, [first], order(), _folder(shelf, "one"), 2)
    earlier = apart.files[0]
    shelf.store.put_file_if_absent("again.parquet", earlier.path)
    facts = earlier.facts
    again = MergeInput("again", "again.parquet", facts.rows, facts.start_time, facts.end_time)

    merged = merge_by_day(shelf.store, [again, other], order(), _folder(shelf, "two"), 64)

    footers = []
    for file in merged.files:
        with SegmentFile(file.path) as segment:
            footers.append(segment.stored.footer.batches)
    assert footers == [
        (BatchPart("a", 1, 1, DAY_MIN, 1), BatchPart("b", 1, 1, DAY_MIN, 1)),
        (BatchPart("a", 1, 1, 2, 2), BatchPart("b", 1, 1, 2, 2)),
        (BatchPart("a", 1, 1, 3, 3), BatchPart("b", 1, 1, 3, DAY_MAX)),
    ]
    assert [day_of(file.facts.start_time) for file in merged.files] == [1, 2, 3]


def test_an_input_whose_times_cannot_be_read_is_named(shelf: Shelf) -> None:
    good = put(shelf, {"logs": rows_on("logs", [1, 2])})
    bad = put(shelf, {"logs": rows_on("logs", [1, 2], 5)})
    path = shelf.folder / "store" / bad.key
    body = bytearray(path.read_bytes())
    body[4:64] = bytes(60)
    path.write_bytes(body)

    with pytest.raises(InputFailed) as caught:
        divide(shelf, [good, bad], 64)

    assert caught.value.segment_id == bad.segment_id
