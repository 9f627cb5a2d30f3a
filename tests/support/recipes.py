"""Records of a small shop, of the last hours, and the code blocks of a page."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from segments.parquet.schema import section_schema
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from tests.support.gateway.segments import SegmentWriter

READING = Path(__file__).parents[2] / "docs/reading"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
MINUTE = 60 * 10**9
_BLOCK = re.compile(
    r"^(?:##? (?P<heading>[^\n]+)$)|^```(?P<language>\w+)\n(?P<code>.*?)^```", re.M | re.S
)


def blocks(page: str, language: str) -> dict[str, str]:
    """Return the last code block below each heading of a page."""
    found, heading = {}, ""
    for match in _BLOCK.finditer((READING / page).read_text()):
        heading = match["heading"] or heading
        if match["language"] == language:
            found[heading] = match["code"]
    return found


class Shop:
    """Records as plain rows, a dict each; `now` is in nanoseconds."""

    def __init__(self) -> None:
        self.now = time.time_ns()
        self.traces = [self._span(n) for n in range(60)]
        self.logs = [self._log(n) for n in range(40)]
        self.metrics = [self._point(n) for n in range(12)]

    def write(self, segments: SegmentWriter, *, format_version: int = 2) -> None:
        """Register it all: half in a file of a format, half in one of another."""
        halves = (slice(0, None, 2), format_version), (slice(1, None, 2), 2)
        for part, version in halves:
            tables = {
                "logs": _table("logs", self.logs[part]),
                "metrics": _table("metrics", self.metrics[part]),
                "traces": _table("traces", self.traces[part]),
            }
            segments.register(tables, SegmentSpec(), version)  # type: ignore[arg-type]

    def last_hour(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Rows of the last hour."""
        return [row for row in rows if row["timestamp"] >= self.now - 60 * MINUTE]

    def _span(self, n: int) -> dict[str, Any]:
        # A third is older than an hour.
        age = 90 * MINUTE if n % 3 == 0 else 10 * MINUTE
        return {
            "signal": "traces",
            "timestamp": self.now - age - n,
            "service_name": f"service-{n % 4}",
            "attributes": f'{{"http.route":"/r{n % 3}/{{id}}","n":{n}}}',
            "duration_ns": 1_000_000 * (n + 1),
            "trace_id": f"{n:032x}",
            "span_id": f"{n:016x}",
            "name": "GET",
            "status_code": 2 if n % 5 == 0 else 1,
        }

    def _log(self, n: int) -> dict[str, Any]:
        return {
            "signal": "logs",
            "timestamp": self.now - 10 * MINUTE + n % 7,
            "service_name": f"service-{n % 3}",
            "attributes": "{}",
            "trace_id": TRACE if n % 8 == 0 else None,
            "severity_number": 9 if n % 2 else 17,
            "body": "x" * (n + 1),
        }

    def _point(self, n: int) -> dict[str, Any]:
        return {
            "signal": "metrics",
            # Deltas: each begins where the one before it of its service ended.
            "timestamp": self.now - (22 - n) * MINUTE,
            "start_timestamp": self.now - (24 - n) * MINUTE,
            "count": 2 * n + 20,
            "service_name": f"service-{n % 2}",
            "attributes": "{}",
            "metric_name": "http.server.duration",
            "metric_type": "histogram",
            "aggregation_temporality": 1,
            "bucket_counts": [n, 10, 10, n],
            "explicit_bounds": [10.0, 20.0, 40.0],
        }


def _table(signal: Signal, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    schema = section_schema(signal)
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        is_dictionary = isinstance(field.type, pa.DictionaryType)
        column: Any = pa.array(values, pa.string() if is_dictionary else field.type)
        columns.append(column.dictionary_encode() if is_dictionary else column)
    return pa.table(columns, schema=schema)
