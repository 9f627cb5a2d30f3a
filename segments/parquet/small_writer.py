"""Small merged segments, made in memory: many datasets' rows are brought into order together.

A file of a thousand rows costs as much in calls as in bytes, so one call serves many files wherever
it can. Only Parquet itself is left for each: one row group, one page a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import google_crc32c
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.parquet.columns.stored_columns import wide_stored
from segments.parquet.footer import (
    FORMAT_VERSION,
    SegmentFacts,
    SegmentFooter,
    StoredFooter,
    encode_footer,
)
from segments.parquet.layout import Shape, WriterSettings
from segments.parquet.reader import plain_bytes
from segments.parquet.schema import file_sort_columns, sort_columns
from segments.parquet.sorting import sort_owned
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal

# Above, a file is worth row groups with its own pages.
SMALL_ROWS_MAX = 8_192
# Up to here compression costs more than it saves.
TINY_ROWS_MAX = 256
# Up to here dictionaries are larger than their savings: a file of one row of logs is 12 % smaller
# without, one of five rows 5 %, one of ten 1 % larger; it takes 15 % less time to write.
PLAIN_ROWS_MAX = 8
# Compressed, the text of one row is as large, and the file takes a third longer to write.
BARE_ROWS_MAX = 1
# Text that the dictionaries of one call's rows become.
TEXT_BYTES_MAX = 64 * 1024 * 1024
_PAGE_BYTES = 1024 * 1024


class NotSmall(Exception):
    """The rows take more memory than many small files together should."""


@dataclass(frozen=True, slots=True)
class SmallSection:
    """One owner's rows of one signal: sorted, with all columns of the file as they are stored."""

    table: pa.Table
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True)
class SmallSegment:
    """A finished file."""

    body: bytes
    facts: SegmentFacts


class SmallFormat:
    """Writes small files that have the same signals and settings."""

    def __init__(self, signals: Sequence[Signal], spec: SegmentSpec) -> None:
        self._signals = signals
        self._spec = spec
        self._order = file_sort_columns(spec, signals)
        shape = Shape(SMALL_ROWS_MAX, _PAGE_BYTES, SMALL_ROWS_MAX, is_small=True)
        self._stored = wide_stored(tuple(signals), spec.promoted, FORMAT_VERSION)
        tiny = replace(shape, bloom_values=TINY_ROWS_MAX, is_tiny=True)
        plain = replace(tiny, has_dictionaries=False)
        # Settings by the most rows of a file, ascending.
        self._settings = {
            rows_max: WriterSettings(
                self._stored, self._order, its_shape, spec.deduplication_column
            )
            for rows_max, its_shape in (
                (BARE_ROWS_MAX, replace(plain, is_compressed=False)),
                (PLAIN_ROWS_MAX, plain),
                (TINY_ROWS_MAX, tiny),
                (SMALL_ROWS_MAX, shape),
            )
        }
        self._schema = self._settings[SMALL_ROWS_MAX].schema

    def sections(
        self, signal: Signal, table: pa.Table, owners: pa.Array[Any]
    ) -> Iterator[tuple[int, SmallSection]]:
        """Sort rows of many owners and cut them apart; yields owners in ascending order.

        `owners` is each row's; the table's schema is `section_schema(signal, promoted)`. Raises
        NotSmall if its dictionaries are too much text.
        """
        keys = sort_columns(self._spec, signal)
        ordered = sort_owned(table, owners, keys)
        if pc.unique(ordered["signal"]).to_pylist() != [signal] or ordered["timestamp"].null_count:
            raise ValueError(f"rows of {signal} are of another signal or without a timestamp")
        times = ordered["timestamp"].chunk(0).cast(pa.int64())
        wide = self._widened(ordered)
        start = 0
        for owner, rows in sorted(_rows_by_owner(owners)):
            time_bounds = pc.min_max(times.slice(start, rows))
            yield (
                owner,
                SmallSection(
                    wide.slice(start, rows), time_bounds["min"].as_py(), time_bounds["max"].as_py()
                ),
            )
            start += rows

    def write(self, sections: Mapping[Signal, SmallSection], footer: SegmentFooter) -> SmallSegment:
        """Make the file of one owner; it has a section of each of the format's signals."""
        assert footer.format_version == FORMAT_VERSION
        stored = StoredFooter(
            footer,
            {signal: sections[signal].table.num_rows for signal in self._signals},
            min(section.start_time for section in sections.values()),
            max(section.end_time for section in sections.values()),
            self._order,
            self._spec.promoted,
            self._spec.sharding_fields,
            {s: (sections[s].start_time, sections[s].end_time) for s in self._signals},
        )
        sink, collected = pa.BufferOutputStream(), list[pq.FileMetaData]()
        # One row group for all: each column of each costs more than a hundred values in it.
        table = pa.concat_tables(sections[signal].table for signal in self._signals)
        table = table.combine_chunks()
        rows = stored.rows
        nulls = {
            name
            for name, column in zip(table.schema.names, table.columns, strict=True)
            if column.null_count == rows
        }
        with self._settings_for(rows).open(sink, collected, nulls) as writer:
            writer.write_table(table, row_group_size=rows)
            writer.add_key_value_metadata(encode_footer(stored))  # type: ignore[arg-type]
        body = sink.getvalue().to_pybytes()
        (metadata,) = collected
        crc32c = google_crc32c.value(body)
        return SmallSegment(body, SegmentFacts.of(stored, plain_bytes(metadata), len(body), crc32c))

    def _settings_for(self, rows: int) -> WriterSettings:
        fitting = (settings for rows_max, settings in self._settings.items() if rows <= rows_max)
        return next(fitting, self._settings[SMALL_ROWS_MAX])

    def _widened(self, table: pa.Table) -> pa.Table:
        """Bring one section's rows to the columns of the file; absent ones are null."""
        chunks = (column.chunk(0) for column in table.columns)
        stored_columns = self._stored.split(dict(zip(table.schema.names, chunks, strict=True)))
        present = self._stored.with_words(stored_columns)
        room = TEXT_BYTES_MAX
        columns: list[Any] = []
        for field in self._schema:
            if field.name not in present:
                columns.append(pa.nulls(table.num_rows, field.type))
                continue
            column: Any = present[field.name]
            if isinstance(column, pa.DictionaryArray):
                values: Any = column.dictionary
                room -= pc.sum(pc.binary_length(values).take(column.indices)).as_py() or 0
                if room < 0:
                    raise NotSmall(f"{table.num_rows} rows hold more text than {TEXT_BYTES_MAX}")
                column = values.take(column.indices)
            columns.append(column)
        return pa.table(columns, schema=self._schema)


@lru_cache(maxsize=64)
def small_format(signals: tuple[Signal, ...], spec: SegmentSpec) -> SmallFormat:
    """Return the format of files with these signals, in the order of SIGNALS."""
    assert signals == tuple(s for s in SIGNALS if s in signals)
    return SmallFormat(signals, spec)


def _rows_by_owner(owners: pa.Array[Any]) -> Iterator[tuple[int, int]]:
    counts: Any = pc.value_counts(owners)
    yield from zip(
        counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
    )
