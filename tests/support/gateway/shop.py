"""A dataset with all that is awkward to read: late, straddling, promoted half-way, sparse."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from meta.client import MetaClient
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segments.parquet.columns.promoted import promote
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.footer import FORMAT_VERSION
from segments.parquet.schema import section_schema
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import DAY, EPOCH
from tests.support.parquet.rows import rows_of

DAY_0 = EPOCH
HOUR_MICROS = 3_600 * 10**6
TRACE = "5b8aa5a2d2c872e8321cf37308d69df2"
LATENCY, ONLY, STRADDLER = "latency", "only-once", "straddler"
_SERVICES = ("cart", "checkout", "search")
_BOUNDS = [1.0, 5.0, 25.0, 100.0]
_TRACES = 40
# Many rows take a second, and come from few seeds.
_rows_of = lru_cache(30)(rows_of)


@dataclass
class Shop:
    """Writes segments of one dataset and keeps all of their rows as they were made."""

    client: MetaClient
    segments: SegmentWriter
    tables: list[pa.Table] = field(default_factory=list)
    # Of one file after the other.
    formats: Sequence[int] = (FORMAT_VERSION,)
    # Of each signal in a file.
    rows: int = 60
    _rng: random.Random = field(default_factory=lambda: random.Random(12))

    def open(self) -> None:
        """Write the files that the questions are about."""
        for day in range(4):
            if day == 2:
                self.promote()
            for _ in range(2):
                self.write(EPOCH + day * DAY, DAY)
        self.write(EPOCH + DAY // 2, 3 * DAY, services=(STRADDLER,))
        # Late: the last file to come holds the first day.
        self.write(EPOCH + DAY // 4, DAY // 8)

    def promote(self) -> None:
        """Give the dataset its own column; files from before lack it."""
        column = common_pb2.PromotedColumn(
            name="user.id",
            type=common_pb2.KQL_TYPE_STRING,
            scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
            attribute="user.id",
        )
        settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=[column]))
        self.client.operations.SetDatasetSettings(
            pb.SetDatasetSettingsRequest(dataset_id=self.segments.dataset, settings=settings)
        )

    def write(
        self, start: int, length: int, rows: int = 0, services: Sequence[str] = _SERVICES
    ) -> str:
        """Write a segment of all signals over a span of nanoseconds; returns its id."""
        spec = self.segments.spec()
        rows = rows or self.rows
        tables = {}
        for signal in SIGNALS:
            table = _rows_of(signal, rows, spec, self._rng.getrandbits(32))
            # The first one at the very start, which only one file of all has.
            times = [start] + [start + self._rng.randrange(length) for _ in range(rows - 1)]
            columns: dict[str, list[Any]] = {
                "timestamp": times,
                "service_name": [self._rng.choice(services) for _ in range(rows)],
            }
            columns |= self._columns(signal, rows)
            tables[signal] = replace_columns(table, columns)
        format_version = self.formats[len(self.tables) // len(SIGNALS) % len(self.formats)]
        self.tables += tables.values()
        return self.segments.register(tables, spec, format_version)

    def copy_whole(self, segments: SegmentWriter) -> Shop:
        """Write the same records to another dataset, whose files all have its own column."""
        copy = Shop(self.client, segments)
        copy.promote()
        spec = segments.spec()
        for place in range(0, len(self.tables), len(SIGNALS)):
            own = self.tables[place : place + len(SIGNALS)]
            tables = {
                signal: _completed(table, signal, spec)
                for signal, table in zip(SIGNALS, own, strict=True)
            }
            copy.tables += tables.values()
            segments.register(tables, spec)
        return copy

    def _columns(self, signal: Signal, rows: int) -> dict[str, list[Any]]:
        rng = self._rng
        if signal == "metrics":
            names = [rng.choice((LATENCY, "requests")) for _ in range(rows)]
            if not self.tables:
                names[0] = LATENCY
            if len(self.tables) == len(SIGNALS):
                names[0] = ONLY
            histograms = [name in (LATENCY, ONLY) for name in names]
            return {
                "metric_name": names,
                "bucket_counts": [
                    [rng.randrange(9) for _ in range(5)] if one else None for one in histograms
                ],
                "explicit_bounds": [_BOUNDS if one else None for one in histograms],
                # No engine compares a number that is none.
                "value_double": [rng.random() for _ in range(rows)],
                "sum": [rng.random() for _ in range(rows)],
                "min": [0.0] * rows,
                "max": [1.5] * rows,
                "zero_threshold": [None] * rows,
                "aggregation_temporality": [1] * rows,
            }
        number_of_traces = _TRACES * self.rows // 60
        traces = [TRACE, *(f"{number:032x}" for number in range(1, number_of_traces))]
        columns: dict[str, list[Any]] = {"trace_id": [rng.choice(traces) for _ in range(rows)]}
        columns["trace_id"][0] = TRACE
        if signal == "traces":
            columns["status_code"] = [rng.choice((0, 1, 2, None)) for _ in range(rows)]
            columns["duration_ns"] = [rng.randrange(10**9) for _ in range(rows)]
        return columns

    def all_rows(self) -> pa.Table:
        """Every row with times as files have them: whole microseconds, and what is left."""
        rows = pa.concat_tables(map(_split_times, self.tables), promote_options="default")
        for column in READABLE_COLUMNS:
            words = column.read(rows[column.source]).cast(pa.string())
            rows = rows.append_column(column.name, words)
        return rows


def _completed(table: pa.Table, signal: Signal, spec: SegmentSpec) -> pa.Table:
    """Take promoted columns that a table lacks from its attributes."""
    (batch,) = table.combine_chunks().to_batches()
    missing = [column for column in spec.promoted if column.name not in table.schema.names]
    for column, values in zip(missing, promote(batch, missing)[0], strict=True):
        table = table.append_column(column.name, values)
    schema = section_schema(signal, spec.promoted)
    return table.select(schema.names).cast(schema)


def replace_columns(table: pa.Table, columns: dict[str, list[Any]]) -> pa.Table:
    for name, values in columns.items():
        place, member = table.schema.get_field_index(name), table.schema.field(name)
        is_dictionary = pa.types.is_dictionary(member.type)
        column = pa.array(values, pa.string() if is_dictionary else member.type)
        column = column.dictionary_encode() if is_dictionary else column
        table = table.set_column(place, member, column)
    return table


def _split_times(table: pa.Table) -> pa.Table:
    for member in table.schema:
        if pa.types.is_dictionary(member.type):
            place = table.schema.get_field_index(member.name)
            table = table.set_column(place, member.name, table[member.name].cast(pa.string()))
        elif pa.types.is_timestamp(member.type):
            nanos = table[member.name].cast(pa.int64()).to_pylist()
            micros = [None if one is None else one // 1_000 for one in nanos]
            rest = [None if one is None else one % 1_000 for one in nanos]
            place = table.schema.get_field_index(member.name)
            exact = pa.array(micros, pa.timestamp("us", "UTC"))
            table = table.set_column(place, member.name, exact)
            table = table.append_column(f"{member.name}_nanos", pa.array(rest, pa.int32()))
    return table
