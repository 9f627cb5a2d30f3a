"""Exports as Arrow streams with the columns that the Collector's ClickHouse exporter inserts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from benchmarks.cost.records import Export

BATCH_ROWS = 100_000
_MAP = pa.map_(pa.string(), pa.string())
_LOGS: list[tuple[str, pa.DataType]] = [
    ("Timestamp", pa.timestamp("ns", "UTC")),
    ("TraceId", pa.string()),
    ("SpanId", pa.string()),
    ("TraceFlags", pa.uint8()),
    ("SeverityText", pa.string()),
    ("SeverityNumber", pa.uint8()),
    ("ServiceName", pa.string()),
    ("Body", pa.string()),
    ("ResourceAttributes", _MAP),
    ("ScopeName", pa.string()),
    ("LogAttributes", _MAP),
]
_TRACES: list[tuple[str, pa.DataType]] = [
    ("Timestamp", pa.timestamp("ns", "UTC")),
    ("TraceId", pa.string()),
    ("SpanId", pa.string()),
    ("ParentSpanId", pa.string()),
    ("SpanName", pa.string()),
    ("SpanKind", pa.string()),
    ("ServiceName", pa.string()),
    ("ResourceAttributes", _MAP),
    ("ScopeName", pa.string()),
    ("SpanAttributes", _MAP),
    ("Duration", pa.uint64()),
    ("StatusCode", pa.string()),
]

LOGS, TRACES = pa.schema(_LOGS), pa.schema(_TRACES)


class ClickHouseRows:
    """Writes `logs.arrow` and `traces.arrow` in batches of 100,000 rows, from enter to exit."""

    def __init__(self, folder: Path) -> None:
        self._tables = (
            _Table(folder / "logs.arrow", LOGS),
            _Table(folder / "traces.arrow", TRACES),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for table in self._tables:
            table.close()

    def add(self, export: Export) -> None:
        """Add the records of an export."""
        logs, traces = self._tables
        logs.add(_log_rows(export))
        traces.add(_span_rows(export))


class _Table:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pa.ipc.new_stream(str(path), schema)
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows.extend(rows)
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows.clear()


def _log_rows(export: Export) -> Iterable[tuple[Any, ...]]:
    resource = list(export.resource.items())
    for row in export.logs:
        yield (
            row.time_nanos,
            row.trace_id.hex(),
            row.span_id.hex(),
            0,
            row.severity_text,
            row.severity,
            export.service,
            row.body,
            resource,
            "app.logger",
            _texts(row.attributes),
        )


def _span_rows(export: Export) -> Iterable[tuple[Any, ...]]:
    resource = list(export.resource.items())
    for row in export.spans:
        yield (
            row.time_nanos,
            row.trace_id.hex(),
            row.span_id.hex(),
            row.parent_id.hex(),
            row.name,
            "Server",
            export.service,
            resource,
            "app.tracer",
            _texts(row.attributes),
            row.duration_nanos,
            "Error" if row.is_error else "Unset",
        )


def _texts(attributes: dict[str, str | int]) -> list[tuple[str, str]]:
    # The exporter's maps hold texts alone.
    return [(key, str(value)) for key, value in attributes.items()]
