"""Columns by which records are looked up have Bloom filters, in files of any size and maker."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from segments.deduplication import Deduplication
from segments.parquet.small_writer import small_format
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.parquet.writer import SegmentWriter
from tests.support.parquet.rows import FOOTER, rows_of

COLUMNS = tuple(
    PromotedColumn(name, "string", "record", name, 1_000 + 2 * number, is_bound=True)
    for number, name in enumerate(("order_id", "Api_Key", "event", "city"))
)
PLAIN = SegmentSpec((), COLUMNS)
ONCE = replace(PLAIN, deduplication=Deduplication(7, "event"))
IDS = {"order_id", "Api_Key"}


def filters_of(file: pq.ParquetFile) -> set[str]:
    """The columns of the schema that have a Bloom filter."""
    group = file.metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    named = {column.name for column in COLUMNS}
    return {
        column.path_in_schema
        for column in columns
        if column.path_in_schema in named and column.bloom_filter_length  # type: ignore[attr-defined]
    }


def test_texts_named_as_ids_and_the_identity_of_events_have_filters(tmp_path: Path) -> None:
    for spec, expected in ((PLAIN, IDS), (ONCE, IDS | {"event"})):
        path = tmp_path / f"{len(expected)}.parquet"
        # The worker that merges knows the deduplication key by the footers alone.
        footer = replace(FOOTER, deduplication=spec.deduplication_column)
        with SegmentWriter(path, ["logs"], PLAIN, footer) as writer:
            writer.write("logs", rows_of("logs", 50, PLAIN))
            writer.close()

        assert filters_of(pq.ParquetFile(path)) == expected


def test_small_files_have_them_too() -> None:
    for spec, expected in ((PLAIN, IDS), (ONCE, IDS | {"event"})):
        format_ = small_format(("logs",), spec)
        owners = pa.array([0] * 50, pa.int32())
        ((_, section),) = format_.sections("logs", rows_of("logs", 50, spec), owners)
        body = format_.write({"logs": section}, FOOTER).body

        assert filters_of(pq.ParquetFile(pa.BufferReader(body))) == expected
