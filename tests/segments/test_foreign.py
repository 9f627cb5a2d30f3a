"""Files of others: every value of every row is in a column or an attribute of its record."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.foreign.file import ForeignFile
from segments.foreign.mapping import NotMappable
from segments.foreign.origin import RegisteredFile
from segments.parquet.schema import section_schema
from segments.signals import SIGNALS
from tests.support.examples import examples

FIRST, LAST = -(2**63) + 1_000, 2**63 - 1_000
TEXTS = st.text(max_size=8)
SCALARS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.list_(pa.int16()): st.lists(st.integers(-9, 9), max_size=3),
    pa.struct([("a", pa.string())]): st.fixed_dictionaries({"a": TEXTS}),
}
# Names of the format, of others, and ones that differ by case alone.
NAMES = st.sampled_from(
    (
        *("body", "severity_number", "trace_id", "flags", "service_name", "value_double", "count"),
        *("kind", "user.id", "Body", "events", "bucket_counts", "resource_attributes", "x y"),
    )
)
TYPES = st.sampled_from(list(SCALARS))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 4))
    times = draw(st.lists(st.integers(FIRST, LAST), min_size=rows, max_size=rows))
    columns: dict[str, pa.Array[Any]] = {"timestamp": pa.array(times).cast(pa.timestamp("ns"))}
    for name in draw(st.lists(NAMES, unique=True, max_size=5)):
        type_ = draw(TYPES)
        values = st.lists(st.none() | SCALARS[type_], min_size=rows, max_size=rows)
        columns[name] = pa.array(draw(values), type_)
    if draw(st.booleans()):
        signals = st.lists(st.sampled_from(SIGNALS), min_size=rows, max_size=rows)
        columns["signal"] = pa.array(draw(signals))
    return pa.table(columns)


def opened(
    table: pa.Table, *, rows: int | None = None, times: tuple[int, int] = (-(2**63), 2**63 - 1)
) -> ForeignFile:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=2)
    count = table.num_rows if rows is None else rows
    registered = RegisteredFile("segment", "dataset", count, *times)
    return ForeignFile(io.BytesIO(buffer.getvalue()), registered)


def same(value: Any, read: Any) -> bool:
    """Tell whether a value came through: numbers beyond JSON are words there."""
    if isinstance(value, float) and not math.isfinite(value):
        words = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        return read == words or repr(read) == repr(value)
    return bool(read == value)


@settings(max_examples=examples(60), deadline=None)
@given(table=tables())
def test_every_value_of_a_file_is_in_its_record(table: pa.Table) -> None:
    file = opened(table)
    read: list[tuple[int, dict[str, Any]]] = []
    for signal in file.signals:
        for batch in file.batches(signal, 3):
            assert batch.schema.equals(section_schema(signal))
            times: list[Any] = batch.column("timestamp").cast(pa.int64()).to_pylist()
            plain = batch.drop_columns(["timestamp"])
            read += zip(times, plain.to_pylist(), strict=True)

    assert len(read) == table.num_rows == file.stored.rows
    known: list[Any] = table["timestamp"].cast(pa.int64()).to_pylist()
    written = list(zip(known, table.drop_columns(["timestamp"]).to_pylist(), strict=True))
    # Within a signal the order stays; times alone do not name a row.
    if file.signals != ("logs",) or "signal" in table.column_names:
        order = {signal: place for place, signal in enumerate(file.signals)}
        written.sort(key=lambda pair: order[pair[1].get("signal") or file.signals[0]])
    for (time, row), (read_time, record) in zip(written, read, strict=True):
        assert read_time == time
        attributes = json.loads(record["attributes"])
        for name, value in row.items():
            if value is not None:
                held = record.get(name)
                held = attributes.get(name) if held is None else held
                if name in ("resource_attributes", "events") and isinstance(held, str):
                    assert held == value or json.loads(held) == value or held == json.dumps(value)
                else:
                    assert same(value, held), (name, value, held)


def test_the_column_that_names_the_signals_is_not_an_attribute() -> None:
    times = pa.array([1, 2], pa.timestamp("us"))

    file = opened(pa.table({"timestamp": times, "signal": pa.array(["traces", "logs"])}))

    assert set(file.signals) == {"logs", "traces"}
    for signal in file.signals:
        (batch,) = file.batches(signal, 3)
        assert batch.column("signal").to_pylist() == [signal]
        assert batch.column("attributes").to_pylist() == ["{}"]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[("team", "a")]], pa.map_(pa.string(), pa.string())),
        pa.array([{"team": "a"}]),
        pa.array(['{"team":"a"}']),
    ],
    ids=["map", "struct", "text"],
)
def test_a_column_of_objects_stays_in_its_column(values: pa.Array[Any]) -> None:
    times = pa.array([1], pa.timestamp("us"))

    file = opened(pa.table({"timestamp": times, "resource_attributes": values}))

    (batch,) = file.batches("logs", 3)
    assert json.loads(batch.column("resource_attributes")[0].as_py()) == {"team": "a"}


@pytest.mark.parametrize(
    ("columns", "rows", "reason"),
    [
        ({"t": pa.array([1])}, 1, "no column 'timestamp'"),
        ({"timestamp": pa.array([1])}, 1, "is int64, not a timestamp"),
        ({"timestamp": pa.array([None], pa.timestamp("us"))}, 1, "1 rows have no time"),
        ({"timestamp": pa.array([2**62], pa.timestamp("us"))}, 1, "beyond 64 bits"),
        ({"timestamp": pa.array([1], pa.timestamp("us"))}, 2, "has 1 rows, registered are 2"),
        (
            {"timestamp": pa.array([1], pa.timestamp("us")), "signal": pa.array(["profiles"])},
            1,
            "holds 'profiles'",
        ),
    ],
)
def test_a_file_without_records_says_why(
    columns: dict[str, pa.Array[Any]], rows: int, reason: str
) -> None:
    with pytest.raises(NotMappable, match=reason):
        opened(pa.table(columns), rows=rows)


@pytest.mark.parametrize(("start", "end"), [(1_001, 9_000), (0, 2_999)], ids=["before", "after"])
def test_a_file_with_times_outside_of_its_registration_is_not_readable(
    start: int, end: int
) -> None:
    """A query of a time range finds a file by its registration: it would miss these records."""
    times = pa.array([1, 3], pa.timestamp("us"))

    with pytest.raises(NotMappable, match=f"holds times 1000..3000, registered are {start}"):
        opened(pa.table({"timestamp": times}), times=(start, end)).check_rows()


def test_text_that_is_not_utf8_makes_a_file_unreadable_and_not_a_read() -> None:
    texts = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    times = pa.array([1], pa.timestamp("us"))

    for name in ("body", "other"):
        file = opened(pa.table({"timestamp": times, name: texts}))
        with pytest.raises(NotMappable, match="not UTF-8"):
            file.check_rows()


def test_a_value_that_python_cannot_hold_makes_a_file_unreadable() -> None:
    times = pa.array([1], pa.timestamp("us"))
    far = pa.array([[2**60]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us")))

    with pytest.raises(NotMappable, match="its values cannot be read"):
        opened(pa.table({"timestamp": times, "far": far})).check_rows()


def test_two_columns_that_say_the_signal_make_a_file_unreadable_and_not_a_read() -> None:
    times = pa.array([1], pa.timestamp("us"))
    columns: list[Any] = [times, pa.array(["logs"]), pa.array(["traces"])]
    table = pa.Table.from_arrays(columns, names=["timestamp", "signal", "signal"])
    with pytest.raises(NotMappable, match="two of one name"):
        opened(table)
