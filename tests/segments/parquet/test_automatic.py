"""Automatic columns: exact values alone, from whatever a writer makes them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from segments.facts.automatic_columns import usable_ids
from segments.location import StoreLocation
from segments.otlp.decode import decode
from segments.otlp.typed_attributes import RecordAttributes
from segments.parquet.columns.automatic import exact_values
from segments.parquet.columns.promoted import promote
from segments.parquet.columns.promoted_reads import ROWS_MIN
from segments.parquet.footer import SegmentFooter
from segments.parquet.footer_columns import decode as decode_columns
from segments.parquet.footer_columns import encode as encode_columns
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.store.open import open_store
from tests.segments.otlp.test_typed_attributes import RECORDS
from tests.segplane.query.test_row_groups import replaced
from tests.support.examples import examples
from tests.support.parquet.rows import DATASET, PLAIN, rows_of
from tests.support.parquet.shelf import Shelf, order

USER = PromotedColumn("$1000000", "string", "record", "user.id", 1_000_000, is_automatic=True)
SIZE = PromotedColumn("$1000002", "long", "record", "size", 1_000_002, is_automatic=True)
SPEC = SegmentSpec((), (USER, SIZE))
VALUES = ['"a"', '""', '"é\\n"', "7", "0", "-5", "9223372036854775807"]
ODD = ["null", "1.0", "-0", "1e2", "true", "[]", "{}", "9223372036854775808", '"\\u0000"', '"7"']


def members(allowed: list[str]) -> st.SearchStrategy[str]:
    entry = st.tuples(st.sampled_from(["user.id", "size", "other"]), st.sampled_from(allowed))
    pairs = st.lists(entry, max_size=4, unique_by=lambda pair: pair[0])
    return pairs.map(lambda own: "{" + ",".join(f'"{key}":{value}' for key, value in own) + "}")


REPEATED = st.just('{"user.id":"a","user.id":"a","size":1}')
NESTED = st.just('{"other":{"user.id":null,"size":"x"}}')
TEXTS = st.one_of(
    st.lists(members(VALUES), min_size=1, max_size=6),
    st.lists(members(VALUES + ODD) | REPEATED | NESTED, min_size=1, max_size=6),
)


def expected(texts: list[str], column: PromotedColumn) -> list[Any] | None:
    """The values of a column by the words of the format, None if it is unusable."""
    values: list[Any] = []
    for text in texts:
        pairs = json.loads(text, object_pairs_hook=list, parse_int=str, parse_float=float)
        own = [value for key, value in pairs if key == column.attribute]
        # Whole numbers are texts here, and so are JSON strings: the JSON tells them apart.
        is_text = f'"{column.attribute}":"' in text
        if not own:
            values.append(None)
        elif len(own) > 1 or not isinstance(own[0], str) or is_text != (column is USER):
            return None
        elif column is USER:
            values.append(own[0])
        elif own[0] != str(int(own[0])) or not -(2**63) <= int(own[0]) < 2**63:
            return None
        else:
            values.append(int(own[0]))
    return None if column is USER and any("\0" in value for value in values if value) else values


@given(texts=TEXTS, times=st.sampled_from([1, ROWS_MIN]))
@settings(deadline=None, max_examples=examples(400))
def test_a_column_has_exact_values_or_is_unusable(texts: list[str], times: int) -> None:
    texts = texts * times
    # A slice of a longer array, as batches are.
    array = pa.array(["{}", *texts, '{"size":"x"}']).slice(1, len(texts))

    for column, values in zip((USER, SIZE), exact_values(array, (USER, SIZE)), strict=True):
        own = expected(texts, column)
        if values is not None:
            assert values.to_pylist() == own
        elif own is not None:
            # A name within a value, and U+0000 in another text, may be taken for one of the column.
            assert times > 1
            assert any("{" in text[1:] or "\\u0000" in text for text in texts)


@given(own=RECORDS)
@settings(deadline=None, max_examples=examples(200))
def test_attributes_that_are_decoded_give_what_their_json_does(own: list[LogRecord]) -> None:
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.extend(own * ROWS_MIN)
    columns = [
        PromotedColumn(f"${n}", type_, "record", name, n, is_automatic=True)
        for n, (type_, name) in enumerate((t, k) for t in ("string", "long") for k in ("a", "b.c"))
    ]
    decoded = decode("logs", [data.SerializeToString()], [1])
    assert decoded.table is not None
    (batch,) = decoded.table.to_batches()
    arrays, failures = RecordAttributes(decoded.attributes, ["a", "b.c"]).promote(batch, columns, 0)

    few = batch.slice(0, min(len(own), ROWS_MIN - 1))
    for column, values in zip(columns, arrays, strict=True):
        (read,) = exact_values(few.column("attributes"), [column])
        if not failures[column.name]:
            assert read is not None
            assert read.to_pylist() == values.slice(0, few.num_rows).to_pylist()
        else:
            assert values.null_count == len(values)


def test_a_key_without_a_value_and_a_repeated_one_make_a_column_unusable() -> None:
    for record in (
        LogRecord(attributes=[KeyValue(key="user.id")]),
        LogRecord(attributes=[_pair("a"), _pair("a")]),
    ):
        data = LogsData()
        data.resource_logs.add().scope_logs.add().log_records.extend([record] * ROWS_MIN)
        decoded = decode("logs", [data.SerializeToString()], [1])
        assert decoded.table is not None
        (batch,) = decoded.table.to_batches()
        attributes = RecordAttributes(decoded.attributes, ["user.id"])

        assert attributes.promote(batch, [USER], 0)[1] == {USER.name: 1}
        assert promote(batch, [USER])[1] == {USER.name: 1}


def _pair(text: str) -> KeyValue:
    pair = KeyValue(key="user.id")
    pair.value.string_value = text
    return pair


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "store").mkdir()
    return Shelf(open_store(StoreLocation.from_url(f"file://{tmp_path}/store")), tmp_path)


def _table(texts: list[str], spec: SegmentSpec) -> tuple[pa.Table, frozenset[str]]:
    table = replaced(rows_of("logs", len(texts), PLAIN), "attributes", texts)
    (batch,) = table.combine_chunks().to_batches()
    arrays, failures = promote(batch, spec.promoted)
    for column, values in zip(spec.promoted, arrays, strict=True):
        table = table.append_column(column.name, values)
    return table, frozenset(name for name, failed in failures.items() if failed)


CLEAN = ['{"user.id":"a","size":1}', '{"user.id":""}', "{}"] * 20
MIXED = ['{"user.id":"a","size":null}', *CLEAN]


@pytest.mark.parametrize(
    ("files", "usable"),
    [
        pytest.param([(CLEAN, SPEC), (CLEAN, SPEC)], {USER, SIZE}, id="both have them"),
        pytest.param([(CLEAN, SPEC), (CLEAN, PLAIN)], {USER, SIZE}, id="out of the JSON of one"),
        pytest.param([(CLEAN, SPEC), (MIXED, SPEC)], {USER}, id="unusable in one"),
        pytest.param([(CLEAN, SPEC), (MIXED, PLAIN)], {USER}, id="unusable out of the JSON"),
    ],
)
def test_a_merge_has_the_columns_that_are_exact_in_all_inputs(
    shelf: Shelf, files: list[tuple[list[str], SegmentSpec]], usable: set[PromotedColumn]
) -> None:
    inputs = []
    for texts, spec in files:
        table, unusable = _table(texts, spec)
        footer = SegmentFooter(DATASET, "test", unusable=unusable)
        inputs.append(shelf.put({"logs": table}, spec, footer))

    content = shelf.merge(inputs, order(SPEC)).facts.content

    assert usable_ids(content.written) == {c.field_id for c in usable}
    assert content.promoted_field_ids == ()
    merged = shelf.merged()["logs"]
    for column in usable:
        (values,) = exact_values(merged["attributes"].combine_chunks(), [column])
        assert values is not None
        assert merged[column.name].to_pylist() == values.to_pylist()
    with SegmentFile(shelf.folder / "merged.parquet") as segment:
        assert segment.stored.declared == ()
        assert {c for c in SPEC.promoted if c.name not in segment.stored.footer.unusable} == usable


def test_a_merge_of_a_release_without_the_columns_leaves_them_out(shelf: Shelf) -> None:
    table, _ = _table(CLEAN, SPEC)

    content = shelf.merge([shelf.put({"logs": table}, SPEC)], order(PLAIN)).facts.content

    assert usable_ids(content.written) == frozenset()
    assert USER.name not in shelf.merged()["logs"].schema.names


@pytest.mark.parametrize("text", ['{"user.id":null}', '{"user.id":7}', '{"user.id":"a"}'])
def test_a_merge_does_not_trust_a_declared_column_of_the_same_name(shelf: Shelf, text: str) -> None:
    """A declared column has converted values, as has a file whose footer lost the mark."""
    declared = SegmentSpec((), (replace(USER, is_automatic=False),))
    table, _ = _table([text] * 40, declared)
    inputs = [shelf.put({"logs": table}, declared)]

    content = shelf.merge(inputs, order(SPEC)).facts.content

    assert usable_ids(content.written) == {
        c.field_id for c in SPEC.promoted if c is not USER or '"a"' in text
    }


def test_a_declared_column_takes_no_values_of_an_unusable_one_of_its_name(shelf: Shelf) -> None:
    declared = SegmentSpec((), (replace(USER, is_automatic=False),))
    table, unusable = _table(['{"user.id":7}', '{"user.id":"a"}'], SPEC)
    footer = SegmentFooter(DATASET, "test", unusable=unusable)

    shelf.merge([shelf.put({"logs": table}, SPEC, footer)], order(declared))

    merged = shelf.merged()["logs"]
    assert Counter(merged[USER.name].to_pylist()) == Counter(["7", "a"])


def test_footers_of_a_release_without_the_columns_have_none() -> None:
    declared = PromotedColumn("user", "string", "record", "user.id", 1_000)
    entries = encode_columns((declared, USER), {USER.name})

    assert entries["automatic"] == {USER.name: False}
    texts = {name: json.dumps(value).encode() for name, value in entries.items()}
    assert decode_columns(texts) == ((declared, USER), frozenset([USER.name]))
    del texts["automatic"]
    assert not any(column.is_automatic for column in decode_columns(texts)[0])


def test_json_that_no_writer_makes_leaves_a_column_unusable() -> None:
    column = PromotedColumn("$1000000", "long", "record", "size", 1_000_000, is_automatic=True)

    for text in ('{"size":' + "9" * 5_000 + "}", '{"size":' + "[" * 100_000 + "]" * 100_000 + "}"):
        assert exact_values(pa.array([text]), [column]) == [None]
