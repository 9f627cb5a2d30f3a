"""Promoted columns are the same whether Arrow or Python reads the attributes."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.parquet.columns import promoted_reads
from segments.parquet.columns.promoted import promote
from segments.parquet.spec import PromotedColumn
from tests.support.examples import examples

NAMES = ("a", "b.c", "é", "")
TYPES = ("bool", "int", "long", "real", "string", "datetime", "timespan", "guid", "dynamic")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, -1, 2**31, 2**53 + 1, -(2**31), 1.0, -0.0, 0.1, 1e22, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["true", "7", "2024-02-29T00:00:00.5+01:00", "\u2028\n\x00", "1e5"]),
    st.just("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(NAMES), SCALARS)
)


# As the format writes attributes.
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def object_text(members: list[tuple[str, Any]]) -> str:
    pairs = (f"{encode(name)}:{encode(value)}" for name, value in members)
    return "{" + ",".join(pairs) + "}"


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[str | None]]:
    members = st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=4)
    text = st.one_of(st.none(), members.map(object_text))
    return st.lists(text, min_size=1, max_size=12)


COLUMNS = st.lists(
    st.tuples(st.sampled_from(TYPES), st.sampled_from(NAMES)), min_size=1, max_size=6
)
# Of one type, so that Arrow reads them, and of any, so that it refuses.
ROWS = st.one_of(
    objects(VALUES), objects(st.integers(-9, 9)), objects(st.text(max_size=3)), objects(SCALARS)
)


@given(rows=ROWS, columns=COLUMNS)
@settings(deadline=None, max_examples=examples(100))
def test_arrow_and_python_read_the_same_values(
    rows: list[str | None], columns: list[tuple[str, str]]
) -> None:
    promoted = [
        PromotedColumn(f"c{n}", kql_type, "resource", attribute)
        for n, (kql_type, attribute) in enumerate(columns)
    ]
    # Enough rows for Arrow to be asked at all.
    texts = pa.array(rows * promoted_reads.ROWS_MIN, pa.string())
    batch = pa.record_batch({"resource_attributes": texts})
    values, failures = promote(batch, promoted)
    one_by_one = [promote(batch.slice(n, 1), promoted) for n in range(len(rows))]
    for place in range(len(promoted)):
        expected = [arrays[place][0] for arrays, _ in one_by_one]
        assert values[place].to_pylist()[: len(rows)] == [item.as_py() for item in expected]
        assert values[place].type == one_by_one[0][0][place].type
    own = sum(failed.total() for _, failed in one_by_one)
    assert failures.total() == own * promoted_reads.ROWS_MIN


def test_arrow_reads_columns_of_one_type_and_leaves_the_others() -> None:
    rows = ['{"n":1,"t":"x","mixed":1}', '{"n":2,"t":null,"mixed":"y"}'] * 40
    number = PromotedColumn("n", "long", "record", "n")
    text = PromotedColumn("t", "string", "record", "t")
    mixed = PromotedColumn("mixed", "string", "record", "mixed")
    read = promoted_reads.read_attributes(pa.array(rows), [number, text, mixed])
    assert set(read) == {number, text}
    assert read[number].to_pylist()[:2] == [1, 2]
    assert read[text].to_pylist()[:2] == ["x", None]


@pytest.mark.parametrize(
    "text",
    ['{"n":9223372036854775808}', '{"n":1.0}', '{"n":true}', '{"n":1,"n":2}', '{"n":1}\n{"n":2}'],
)
def test_arrow_is_not_asked_where_it_would_not_be_exact(text: str) -> None:
    rows = pa.array(['{"n":1}'] * 40 + [text])
    assert promoted_reads.read_attributes(rows, [PromotedColumn("n", "long", "record", "n")]) == {}


def test_a_dynamic_column_is_json_in_its_order_without_repeated_names() -> None:
    text = '{"d":{"z":1,"a":[1.0,"é"],"z":2},"s":"x"}'
    batch = pa.record_batch({"attributes": pa.array([text])})
    columns = [PromotedColumn(n, "dynamic", "record", n) for n in ("d", "s", "none")]
    (nested, scalar, absent), failures = promote(batch, columns)
    assert nested.to_pylist() == ['{"z":1,"a":[1.0,"é"]}']
    assert scalar.to_pylist() == ['"x"']
    assert absent.to_pylist() == [None]
    assert failures.total() == 0
