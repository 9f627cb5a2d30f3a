"""Files of a few rows are stored as what is smallest, and read like others."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.parquet.reader import SegmentFile
from segments.parquet.small_writer import BARE_ROWS_MAX, PLAIN_ROWS_MAX, small_format
from segments.signals import Signal
from tests.support.parquet.rows import FOOTER, PLAIN, plain, rows_of, write_segment


def small_file(signal: Signal, table: pa.Table) -> bytes:
    format_ = small_format((signal,), PLAIN)
    owners: pa.Array[Any] = pa.array([0] * table.num_rows, pa.int32())
    ((_, section),) = format_.sections(signal, table, owners)
    return format_.write({signal: section}, FOOTER).body


def logs_without_names(rows: int) -> pa.Table:
    table = rows_of("logs", rows)
    place = table.schema.get_field_index("event_name")
    field = table.schema.field(place)
    nulls: pa.Array[Any] = pa.nulls(rows, field.type)
    return table.set_column(place, field, nulls)


@pytest.mark.parametrize(
    ("rows", "has_dictionaries", "codec"),
    [
        pytest.param(BARE_ROWS_MAX, False, "UNCOMPRESSED", id="a row"),
        pytest.param(BARE_ROWS_MAX + 1, False, "ZSTD", id="one more"),
        pytest.param(PLAIN_ROWS_MAX, False, "ZSTD", id="a few rows"),
        pytest.param(PLAIN_ROWS_MAX + 1, True, "ZSTD", id="a row more"),
    ],
)
def test_a_file_of_a_few_rows_has_neither_dictionaries_nor_compression_that_do_not_pay(
    rows: int, has_dictionaries: bool, codec: str
) -> None:
    body = small_file("logs", logs_without_names(rows))

    metadata = pq.read_metadata(pa.BufferReader(body))
    columns = [metadata.row_group(0).column(n) for n in range(metadata.num_columns)]
    coded = {c.path_in_schema for c in columns if "RLE_DICTIONARY" in c.encodings}
    assert {c.compression for c in columns if c.path_in_schema == "body"} == {codec}
    assert ("signal" in coded) is has_dictionaries
    assert "event_name" not in coded


@pytest.mark.parametrize("rows", [BARE_ROWS_MAX, PLAIN_ROWS_MAX, PLAIN_ROWS_MAX + 1])
def test_a_file_of_a_few_rows_reads_like_a_large_one(tmp_path: Path, rows: int) -> None:
    table = logs_without_names(rows)
    write_segment(tmp_path / "large.parquet", {"logs": table})
    (tmp_path / "small.parquet").write_bytes(small_file("logs", table))

    with (
        SegmentFile(tmp_path / "small.parquet") as small,
        SegmentFile(tmp_path / "large.parquet") as large,
    ):
        found, expected = (
            pa.Table.from_batches(file.batches("logs", 64)) for file in (small, large)
        )

    assert found.schema == expected.schema
    assert plain(found) == plain(expected)
