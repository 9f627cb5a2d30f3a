"""Rows for tests: random sections with nulls and repeated keys, and files made of them."""

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.schema import section_schema
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.token_index.builder import TokenIndexBuilder

DATASET = "0198a7c0-0000-7000-8000-000000000001"
FOOTER = SegmentFooter(
    DATASET,
    "nursery 0.1.0",
    batches=(BatchPart("batch", 1, 1),),
    ranges=(OffsetSpan("stream-b", 5, 9), OffsetSpan("stream-a", 0, 4)),
)
PLAIN = SegmentSpec()

Row = tuple[tuple[str, str], ...]


def rows_of(
    signal: Signal,
    count: int,
    spec: SegmentSpec = PLAIN,
    seed: int = 0,
    times: int = 10**15,
) -> pa.Table:
    """Make unsorted rows, a fifth of the values null; `times` is how many times there are."""
    rng = random.Random(f"{signal}{seed}")
    makers: list[tuple[Callable[[pa.DataType], bool], Callable[[], object]]] = [
        (pa.types.is_dictionary, lambda: f"name-{rng.randrange(9)}"),
        (pa.types.is_string, lambda: f"{rng.getrandbits(128):032x}"),
        (pa.types.is_boolean, lambda: rng.random() < 0.5),
        (pa.types.is_integer, lambda: rng.randrange(100)),
        (pa.types.is_floating, lambda: rng.choice([rng.random(), float("nan"), -0.0])),
        (pa.types.is_timestamp, lambda: rng.randrange(times)),
        (pa.types.is_list, lambda: None),
    ]
    columns: list[pa.Array[Any]] = []
    schema = section_schema(signal, spec.promoted)
    for field in schema:
        make = next(maker for test, maker in makers if test(field.type))
        values = [
            make() if not field.nullable or rng.random() < 0.8 else None for _ in range(count)
        ]
        if field.name == "signal":
            values = [signal] * count
        elif field.name.endswith("attributes"):
            values = [_attributes(rng) if value else None for value in values]
        is_dictionary = pa.types.is_dictionary(field.type)
        column = pa.array(values, pa.string() if is_dictionary else field.type)
        columns.append(column.dictionary_encode() if is_dictionary else column)
    return pa.table(columns, schema=schema)


def write_segment(
    path: Path,
    tables: Mapping[Signal, pa.Table],
    spec: SegmentSpec = PLAIN,
    footer: SegmentFooter = FOOTER,
    *,
    has_token_index: bool = False,
) -> tuple[dict[Signal, pa.Table], SegmentFacts]:
    """Sort tables and write them; returns them as sorted, and the facts."""
    ordered = {s: sort_table(tables[s], spec, s) for s in SIGNALS if s in tables}
    index = TokenIndexBuilder() if has_token_index else None
    with SegmentWriter(path, tables, spec, footer, index=index) as writer:
        for signal, table in ordered.items():
            writer.write(signal, table)
        return ordered, writer.close()


def plain(table: pa.Table) -> list[Row]:
    """Turn a table into comparable rows: every value as text, so that NaN equals itself."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pa.int64()))
    return [tuple((name, repr(v)) for name, v in row.items()) for row in table.to_pylist()]


def plain_sections(tables: Mapping[Signal, pa.Table]) -> dict[Signal, list[Row]]:
    """Turn a segment's tables into comparable rows."""
    return {signal: plain(table) for signal, table in tables.items()}


def concat(tables: Iterable[pa.Table]) -> pa.Table:
    """Append tables of one schema, whatever their dictionaries."""
    return pa.concat_tables(tables).unify_dictionaries()


def _attributes(rng: random.Random) -> str:
    return rng.choice(
        [
            "{}",
            f'{{"user.id":"u{rng.randrange(5)}","status":{rng.randrange(3)}}}',
            '{"status":"no number","nested":{"status":1}}',
            '{"status":7,"status":8}',
        ]
    )
