"""The merge of segments: every row once, in order, whatever the inputs look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.merging import merge
from segments.merging.inputs import MergeInput
from segments.merging.kway_merge import BLOCK_BATCHES, merge_sorted
from segments.offsets import OffsetSpan
from segments.parquet import row_groups
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.reader import SegmentFile, read_footer
from segments.parquet.schema import sort_columns
from segments.parquet.sorting import sort_by
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.store.open import open_store
from tests.support.examples import examples
from tests.support.parquet.rows import DATASET, PLAIN, Row, concat, plain, rows_of
from tests.support.parquet.shelf import Shelf, order

STATUS = PromotedColumn("status", "long", "record", "status")
USER = PromotedColumn("user", "string", "resource", "user.id")
WHEN = PromotedColumn("when", "datetime", "record", "status", 1_000)
SPECS = [
    PLAIN,
    SegmentSpec(("severity_text", "metric_name")),
    SegmentSpec(("status",), (STATUS,)),
    SegmentSpec(("user", "trace_id"), (USER, STATUS)),
    SegmentSpec(("timestamp",), (replace(STATUS, kql_type="string"),)),
    SegmentSpec(("value_double", "is_monotonic", "severity_number")),
    SegmentSpec(("when", "start_timestamp"), (WHEN,)),
]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return _shelf(tmp_path)


def test_segments_with_different_signals_become_one_with_all_of_them(shelf: Shelf) -> None:
    contents: list[dict[Signal, pa.Table]] = [
        {"logs": rows_of("logs", 300, seed=1), "traces": rows_of("traces", 200, seed=1)},
        {"metrics": rows_of("metrics", 100, seed=2)},
        {"logs": rows_of("logs", 50, seed=3)},
    ]

    result = shelf.merge([shelf.put(tables) for tables in contents], order())

    assert result.facts.rows_by_signal == {"logs": 350, "metrics": 100, "traces": 200}
    merged = shelf.merged()
    for signal in SIGNALS:
        rows = concat(tables[signal] for tables in contents if signal in tables)
        assert Counter(plain(merged[signal])) == Counter(plain(rows))
        assert _keys(merged[signal], PLAIN, signal) == _keys(
            sort_by(rows, sort_columns(PLAIN, signal)), PLAIN, signal
        )


@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_segments_merge_to_the_sorted_bag_of_their_rows(data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from(SPECS), "wanted")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        shelf = _shelf(Path(folder))
        patch.setattr(row_groups, "GROUP_ROWS_MAX", data.draw(st.integers(1, 60), "row group"))
        patch.setattr(merge, "BATCH_ROWS_MIN", 1)
        patch.setattr(merge, "BATCH_ROWS_MAX", data.draw(st.integers(1, 40), "batch"))
        inputs, expected = _draw_inputs(data, shelf, spec)

        result = shelf.merge(inputs, order(spec))

        merged = shelf.merged()
    assert result.facts.rows == sum(item.rows for item in inputs)
    assert {s: Counter(rows) for s, rows in _keyless(merged).items()} == expected
    for signal, table in merged.items():
        keys = sort_columns(spec, signal)
        assert plain(table.select(keys)) == plain(sort_by(table, keys).select(keys))


def test_equal_keys_do_not_drain_their_inputs_at_once() -> None:
    batches = 50
    taken = [0, 0, 0]

    def source(index: int) -> object:
        table = rows_of("logs", 10, seed=index, times=1)
        one = table.set_column(2, table.schema.field(2), pa.nulls(10, table.schema.field(2).type))
        for _ in range(batches):
            taken[index] += 1
            yield from one.combine_chunks().to_batches()

    keys = sort_columns(PLAIN, "logs")
    rows = 0
    for block in merge_sorted([source(i) for i in range(3)], keys):  # type: ignore[misc]
        rows += block.num_rows
        assert sum(taken) * 10 - rows <= 10 * (3 + BLOCK_BATCHES)
    assert rows == 3 * batches * 10


def test_segments_of_different_times_are_joined_one_after_the_other() -> None:
    sources = []
    for index in range(3):
        table = rows_of("logs", 100, seed=index, times=1_000)
        names = pa.nulls(100, table.schema.field("service_name").type)
        table = table.set_column(2, table.schema.field("service_name"), names)
        times = pa.array(range(index * 100, index * 100 + 100)).cast(pa.timestamp("ns", "UTC"))
        table = table.set_column(1, table.schema.field("timestamp"), times)
        sources.append(iter(table.combine_chunks().to_batches()))

    found = list(merge_sorted(sources, ("timestamp",)))

    assert [table.num_rows for table in found] == [100, 100, 100]
    merged = concat(found)["timestamp"].cast(pa.int64())
    assert merged.to_pylist() == list(range(300))


def test_the_output_carries_the_lineage_of_its_inputs(shelf: Shelf) -> None:
    footers = [
        SegmentFooter(
            DATASET, "n", (BatchPart("a", 1), BatchPart("a", 2, 2)), (OffsetSpan("s", 0, 4),)
        ),
        SegmentFooter(
            DATASET, "n", (BatchPart("b", 1, 1),), (OffsetSpan("s", 5, 9), OffsetSpan("r", 0, 0))
        ),
    ]
    inputs = [shelf.put({"logs": rows_of("logs", 5, seed=i)}, PLAIN, footers[i]) for i in range(2)]

    shelf.merge(inputs, order())

    with SegmentFile(shelf.folder / "merged.parquet") as segment:
        footer = segment.stored.footer
    assert footer.batches == (BatchPart("a", 1), BatchPart("a", 2, 2), BatchPart("b", 1, 1))
    assert footer.ranges == (OffsetSpan("r", 0, 0), OffsetSpan("s", 0, 9))
    assert footer.producer == "merge_worker test"


def test_a_newly_promoted_column_is_filled_from_the_attributes(shelf: Shelf) -> None:
    result = shelf.merge(
        [shelf.put({"logs": rows_of("logs", 200)})], order(SegmentSpec((), (STATUS,)))
    )

    table = shelf.merged()["logs"]
    pairs = zip(table["attributes"].to_pylist(), table["status"].to_pylist(), strict=True)
    found = Counter(pairs)
    assert all(
        (text, status)
        in {
            (None, None),
            ("{}", None),
            ('{"status":"no number","nested":{"status":1}}', None),
            ('{"status":7,"status":8}', 7),
        }
        or f'"status":{status}}}' in str(text)
        for text, status in found
    )
    failed = sum(n for (text, _), n in found.items() if text and "no number" in text)
    assert result.unconverted == failed > 0


def test_a_renamed_column_keeps_its_values_and_its_order(shelf: Shelf) -> None:
    former = replace(WHEN, is_bound=True)
    specs = [
        SegmentSpec(("when",), (former,)),
        SegmentSpec(("paid",), (replace(former, name="paid", name_id=1_002),)),
    ]
    tables = [rows_of("logs", 100, spec, seed=number) for number, spec in enumerate(specs)]
    inputs = [shelf.put({"logs": t}, spec) for t, spec in zip(tables, specs, strict=True)]

    shelf.merge(inputs, order(specs[1]))

    merged = shelf.merged()["logs"]
    assert merged["paid"].null_count < 100
    by_new_name = tables[0].rename_columns(tables[1].schema.names)
    assert Counter(plain(merged)) == Counter(plain(concat([by_new_name, tables[1]])))
    assert not list(shelf.folder.glob("runs-*"))


def test_both_formats_merge_without_sorting_either_anew(shelf: Shelf) -> None:
    spec = SegmentSpec(("when",), (WHEN,))
    tables = [rows_of("traces", 100, spec, seed=version) for version in (1, 2)]
    inputs = [
        shelf.put({"traces": table}, spec, SegmentFooter(DATASET, "test", format_version=version))
        for version, table in enumerate(tables, start=1)
    ]

    shelf.merge(inputs, order(spec))

    assert Counter(plain(shelf.merged()["traces"])) == Counter(plain(concat(tables)))
    assert not list(shelf.folder.glob("runs-*"))


def test_a_merged_segment_can_be_merged_again(shelf: Shelf) -> None:
    first = [shelf.put({"logs": rows_of("logs", 50, seed=i)}) for i in range(3)]
    facts = shelf.merge(first, order()).facts
    key = new_merged_key(DATASET)
    shelf.store.put_file_if_absent(key, shelf.folder / "merged.parquet")
    again = MergeInput("again", key, facts.rows, facts.start_time, facts.end_time)
    other = shelf.put({"traces": rows_of("traces", 50)})

    result = shelf.merge([again, other], order())

    assert result.facts.rows_by_signal == {"logs": 150, "traces": 50}
    assert read_footer(shelf.store, key).rows == 150


def _shelf(folder: Path) -> Shelf:
    (folder / "store").mkdir()
    return Shelf(open_store(StoreLocation.from_url(f"file://{folder}/store")), folder)


def _draw_inputs(
    data: st.DataObject, shelf: Shelf, wanted: SegmentSpec
) -> tuple[list[MergeInput], dict[Signal, Counter[Row]]]:
    """Draw segments of any settings; also returns their rows, less promoted columns."""
    inputs: list[MergeInput] = []
    tables: dict[Signal, list[pa.Table]] = {}
    for _ in range(data.draw(st.integers(1, 5), "inputs")):
        spec = data.draw(st.one_of(st.just(wanted), st.sampled_from(SPECS)), "written with")
        signals = data.draw(st.lists(st.sampled_from(SIGNALS), min_size=1, unique=True), "signals")
        sections: dict[Signal, pa.Table] = {}
        for signal in signals:
            rows, times = (
                data.draw(st.integers(1, 40)),
                data.draw(st.sampled_from([1, 20, 10**15])),
            )
            sections[signal] = rows_of(signal, rows, spec, data.draw(st.integers(0, 999)), times)
            tables.setdefault(signal, []).append(sections[signal])
        version = data.draw(st.sampled_from([1, 2]), "format")
        footer = SegmentFooter(DATASET, "test", format_version=version)
        inputs.append(shelf.put(sections, spec, footer))
    return inputs, {
        s: sum((Counter(_keyless({s: t})[s]) for t in found), Counter())
        for s, found in tables.items()
    }


def _keyless(tables: Mapping[Signal, pa.Table]) -> dict[Signal, list[Row]]:
    """Rows without promoted columns, which depend on the settings a segment is written with."""
    return {s: plain(_without(t, {"status", "user", "when"})) for s, t in tables.items()}


def _without(table: pa.Table, names: set[str]) -> pa.Table:
    return table.select([name for name in table.schema.names if name not in names])


def _keys(table: pa.Table, spec: SegmentSpec, signal: Signal) -> list[Row]:
    return plain(table.select(sort_columns(spec, signal)))
