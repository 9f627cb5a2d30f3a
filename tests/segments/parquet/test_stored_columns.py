"""Both formats store the same rows; format 2 as microseconds, remainders and field ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.errors import CorruptObject
from segments.parquet.columns.field_ids import FIELD_IDS, PROMOTED_FIELD_ID_MIN
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.columns.stored_columns import StoredColumns, remainder_names
from segments.parquet.columns.stored_times import REMAINDER, STORED_TIME, join_time, split_time
from segments.parquet.footer import SectionContent, content_of
from segments.parquet.reader import SegmentFile
from segments.parquet.schema import (
    TIMESTAMP,
    reserved_names,
    section_schema,
    time_columns,
    wide_columns,
)
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS
from tests.support.parquet.rows import FOOTER, plain, rows_of, write_segment

NANOS_MAX = 2**63 - 1
# Around the epoch, around whole microseconds, and both ends of the range.
TIMES = st.one_of(
    st.integers(-3_000, 3_000),
    st.integers(-(2**63), NANOS_MAX),
    st.sampled_from([-(2**63), -1_001, -1_000, -999, -1, 0, 1, 999, 1_000, NANOS_MAX]),
)
SEEN = PromotedColumn("seen", "datetime", "record", "seen.at", PROMOTED_FIELD_ID_MIN)
STATUS = PromotedColumn("status", "long", "record", "status", PROMOTED_FIELD_ID_MIN + 2)
SPEC = SegmentSpec(("timestamp", "status"), (SEEN, STATUS))


@given(st.lists(st.none() | TIMES))
def test_a_time_is_rounded_down_to_microseconds_and_comes_back_whole(
    nanos: list[int | None],
) -> None:
    times = pa.array(nanos, pa.int64()).cast(TIMESTAMP)

    micros, remainder = split_time(times)

    assert (micros.type, remainder.type) == (STORED_TIME, REMAINDER)
    assert micros.cast(pa.int64()).to_pylist() == [n if n is None else n // 1_000 for n in nanos]
    assert remainder.to_pylist() == [n if n is None else n % 1_000 for n in nanos]
    assert join_time(micros, remainder, "t").equals(times)


@given(st.lists(TIMES, min_size=1))
def test_order_by_the_pair_is_order_by_the_time(nanos: list[int]) -> None:
    times = pa.array(nanos, pa.int64()).cast(TIMESTAMP)
    micros, remainder = split_time(times)

    table = pa.table({"micros": micros, "remainder": remainder, "nanos": nanos})
    ordered = table.sort_by([("micros", "ascending"), ("remainder", "ascending")])

    assert ordered["nanos"].to_pylist() == sorted(nanos)


@pytest.mark.parametrize(
    ("micros", "remainder"),
    [
        pytest.param([1, 2], [0, 1_000], id="a remainder of a microsecond"),
        pytest.param([1, 2], [-1, 0], id="a negative remainder"),
        pytest.param([1, 2], [0, None], id="no remainder"),
        pytest.param([1, None], [0, 1], id="a remainder of nothing"),
    ],
)
def test_what_is_not_a_time_is_corrupt(
    micros: list[int | None], remainder: list[int | None]
) -> None:
    with pytest.raises(CorruptObject):
        join_time(
            pa.array(micros, pa.int64()).cast(STORED_TIME), pa.array(remainder, REMAINDER), "t"
        )


def test_a_time_beyond_the_range_of_nanoseconds_is_refused() -> None:
    micros = pa.array([NANOS_MAX // 1_000 + 1], pa.int64()).cast(STORED_TIME)

    with pytest.raises(CorruptObject):
        join_time(micros, pa.array([0], REMAINDER), "t")


@pytest.mark.parametrize("version", [1, 2])
def test_both_formats_give_back_the_rows_that_were_written(tmp_path: Path, version: int) -> None:
    tables = {signal: _with_early_times(rows_of(signal, 300, SPEC)) for signal in SIGNALS}
    footer = replace(FOOTER, format_version=version)

    ordered, facts = write_segment(tmp_path / "x.parquet", tables, SPEC, footer)

    with SegmentFile(tmp_path / "x.parquet") as segment:
        assert segment.stored.footer.format_version == version
        assert segment.stored.promoted == SPEC.promoted
        assert segment.stored.start_time == facts.start_time < 0
        assert content_of(segment.stored) == facts.content
        assert facts.content.sections == {s: _section(t) for s, t in ordered.items()}
        for signal in SIGNALS:
            found = pa.Table.from_batches(segment.batches(signal, 64))
            assert found.schema == section_schema(signal, SPEC.promoted)
            assert plain(found) == plain(ordered[signal])


def test_format_1_has_nanoseconds_and_no_field_ids(tmp_path: Path) -> None:
    footer = replace(FOOTER, format_version=1)
    write_segment(tmp_path / "x.parquet", {"logs": rows_of("logs", 9)}, footer=footer)

    schema = pq.read_schema(tmp_path / "x.parquet")

    assert schema.field("timestamp").type == TIMESTAMP
    assert "timestamp_nanos" not in schema.names
    assert not any(_ids(schema))


def test_format_2_has_a_remainder_behind_each_time(tmp_path: Path) -> None:
    footer = replace(FOOTER, format_version=2)
    tables = {signal: rows_of(signal, 9, SPEC) for signal in SIGNALS}
    write_segment(tmp_path / "x.parquet", tables, SPEC, footer)

    schema = pq.read_schema(tmp_path / "x.parquet")
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)

    for time in (*time_columns(), "seen"):
        place = schema.get_field_index(time)
        assert schema.field(place).type == STORED_TIME
        assert schema.field(place + 1).equals(
            pa.field(f"{time}_nanos", REMAINDER, nullable=time != "timestamp")
        )
    assert [schema.names[c.column_index] for c in group.sorting_columns[:3]] == [
        "signal",
        "timestamp",
        "timestamp_nanos",
    ]


@pytest.mark.parametrize(("version", "codec"), [(1, "ZSTD"), (2, "UNCOMPRESSED")])
def test_format_2_compresses_no_codes_in_large_files(
    tmp_path: Path, version: int, codec: str
) -> None:
    footer = replace(FOOTER, format_version=version)
    tables = {signal: rows_of(signal, 9, SPEC) for signal in SIGNALS}
    write_segment(tmp_path / "x.parquet", tables, SPEC, footer)

    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    codecs = {column.path_in_schema: column.compression for column in columns}

    added = {f"{time}_nanos" for time in time_columns()}
    codes = {"signal", "flags", "timestamp", "seen", "duration_ns"}
    for name in codes | (added if version == 2 else set()):
        assert codecs[name] == codec
    assert {codecs[name] for name in ("service_name", "severity_number", "body")} == {"ZSTD"}


def test_format_2_numbers_every_column_element_and_member_once(tmp_path: Path) -> None:
    footer = replace(FOOTER, format_version=2)
    tables = {signal: rows_of(signal, 9, SPEC) for signal in SIGNALS}
    write_segment(tmp_path / "x.parquet", tables, SPEC, footer)

    ids = _ids(pq.read_schema(tmp_path / "x.parquet"))

    assert len(set(ids)) == len(ids)
    assert set(ids) == {*FIELD_IDS.values(), SEEN.field_id, 1_001, STATUS.field_id}


def test_a_promoted_column_without_an_id_is_written_without_one(tmp_path: Path) -> None:
    spec = SegmentSpec((), (replace(STATUS, field_id=None),))
    footer = replace(FOOTER, format_version=2)
    write_segment(tmp_path / "x.parquet", {"logs": rows_of("logs", 9, spec)}, spec, footer)

    schema = pq.read_schema(tmp_path / "x.parquet")

    assert not schema.field("status").metadata
    with SegmentFile(tmp_path / "x.parquet") as segment:
        assert segment.stored.promoted == spec.promoted


def test_field_ids_never_change() -> None:
    """New columns are added behind; a number that is given is given for good."""
    columns = [c.name for c in wide_columns(SIGNALS)] + [c.name for c in READABLE_COLUMNS]

    assert list(FIELD_IDS.values()) == list(range(1, len(FIELD_IDS) + 1))
    assert {*columns, *(f"{t}_nanos" for t in time_columns())} == {
        name for name in FIELD_IDS if "." not in name
    }
    some = ("signal", "timestamp_nanos", "trace_id", "kind")
    assert [FIELD_IDS[name] for name in some] == [1, 3, 19, 65]
    assert FIELD_IDS["quantiles.element.value"] == 57
    assert FIELD_IDS["dropped_links_count"] == 71
    assert FIELD_IDS["span_status"] == 75
    assert max(FIELD_IDS.values()) < PROMOTED_FIELD_ID_MIN


def test_a_wrong_field_id_is_corrupt(tmp_path: Path) -> None:
    footer = replace(FOOTER, format_version=2)
    write_segment(tmp_path / "x.parquet", {"logs": rows_of("logs", 9)}, footer=footer)
    table = pq.read_table(tmp_path / "x.parquet")
    flags = table.schema.get_field_index("flags")
    other = table.schema.field(flags).with_metadata({"PARQUET:field_id": "99"})
    forged = table.cast(table.schema.set(flags, other))
    with pq.ParquetWriter(tmp_path / "y.parquet", forged.schema, store_schema=False) as writer:
        writer.write_table(forged)
        metadata = pq.read_metadata(tmp_path / "x.parquet").metadata or {}
        writer.add_key_value_metadata({k.decode(): v.decode() for k, v in metadata.items()})

    with pytest.raises(CorruptObject, match="flags"):
        SegmentFile(tmp_path / "y.parquet")


def test_a_promoted_column_with_the_name_of_a_remainder_keeps_it(tmp_path: Path) -> None:
    clashing = (
        replace(STATUS, name="timestamp_nanos"),
        SEEN,
        PromotedColumn("seen_nanos", "long", "record", "x", 1_006),
    )
    spec = SegmentSpec((), clashing)
    table = rows_of("logs", 50, spec)

    names = remainder_names(clashing)
    ordered, _ = write_segment(
        tmp_path / "x.parquet", {"logs": table}, spec, replace(FOOTER, format_version=2)
    )

    assert names["timestamp"] == "timestamp_nanos_"
    assert names["seen"] == "seen_nanos_"
    with SegmentFile(tmp_path / "x.parquet") as segment:
        found = pa.Table.from_batches(segment.batches("logs", 64))
    assert plain(found) == plain(ordered["logs"])


@pytest.mark.parametrize("version", [1, 2])
def test_columns_in_memory_are_the_same_in_both_formats(version: int) -> None:
    columns = wide_columns(SIGNALS, SPEC.promoted)
    stored = StoredColumns(columns, SPEC.promoted, version)

    times = [c.name for c in columns if c.type == TIMESTAMP]

    assert set(stored.remainders) == (set(times) if version == 2 else set())
    assert {c.name for c in stored.kept} - set(stored.remainders.values()) == (
        reserved_names() | {"seen", "status"}
    )


def _with_early_times(table: pa.Table) -> pa.Table:
    """Move the times so that some lie before 1970, and none is a whole microsecond throughout."""
    for index, field in enumerate(table.schema):
        if field.type == TIMESTAMP:
            shifted = pc.subtract(table[field.name].cast(pa.int64()), pa.scalar(5 * 10**14 + 1))
            table = table.set_column(index, field, shifted.cast(TIMESTAMP))
    return table


def _section(table: pa.Table) -> SectionContent:
    times = [int(str(value)) for value in table["timestamp"].cast(pa.int64()).to_pylist()]
    return SectionContent(table.num_rows, min(times), max(times))


def _ids(schema: pa.Schema) -> list[int]:
    ids: list[int] = []

    def visit(field: pa.Field[Any]) -> None:
        if field.metadata and b"PARQUET:field_id" in field.metadata:
            ids.append(int(field.metadata[b"PARQUET:field_id"]))
        if pa.types.is_list(field.type):
            visit(field.type.value_field)
        elif pa.types.is_struct(field.type):
            for member in field.type:
                visit(member)

    for field in schema:
        visit(field)
    return ids
