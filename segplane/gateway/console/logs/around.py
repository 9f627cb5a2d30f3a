"""The records of a service around one record, in the order of the list of logs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from segplane.gateway.console.kql_text import text_literal
from segplane.gateway.console.logs.asked import RecordKey
from segplane.gateway.console.logs.records import (
    DIGEST,
    SHOWN_CHARACTERS_MAX,
    LogRow,
    cut,
    kql_time,
    logs_of,
    rows_of,
)
from segplane.gateway.console.time_range import absolute_range

# Records before the one that was looked for, and after it.
SIDE_ROWS = 50
_MINUTE = 60 * 10**9
# A second query is for services with few records.
SIDE_NANOS = (10 * _MINUTE, 24 * 60 * _MINUTE)
_MICROS = 1_000
_CUT = SHOWN_CHARACTERS_MAX + 1
# The columns of a line of the list, of records with their digest.
SHOWN_COLUMNS = (
    f"| extend body = substring(body, 0, {_CUT}),"
    f" attributes_text = substring(tostring(attributes), 0, {_CUT})",
    "| project timestamp, timestamp_nanos, segplane_digest, severity, body, attributes_text,"
    f" {cut('severity_text', 'service_name', 'trace_id')}",
)


@dataclass(frozen=True, slots=True)
class Around:
    """Records newest first; `position` is that of the one that was looked for."""

    rows: Sequence[LogRow]
    position: int

    def is_full(self) -> bool:
        """True if there are enough records on both sides."""
        return self.position >= SIDE_ROWS and len(self.rows) - self.position > SIDE_ROWS


def service_query(dataset: str, key: RecordKey) -> str:
    """Return the query for the service of a record; no row if there is no such record."""
    return "\n".join([*_of_key(dataset, key), "| take 1", "| project service_name"])


def read_service(content: bytes) -> str | None:
    """Return the service, "" for a record that has none, None without a record."""
    rows = json.loads(content)
    return (rows[0]["service_name"] or "") if rows else None


def around_query(dataset: str, key: RecordKey, service: str, side_nanos: int) -> str:
    """Return the query for a record and those of its service on both sides of it."""
    same = f"service_name == {text_literal(service)}" if service else "isempty(service_name)"
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    digest = text_literal(key.digest)
    newer = absolute_range(key.nanos, key.nanos + side_nanos).kql()
    older = absolute_range(key.nanos - side_nanos, key.nanos + 1).kql()
    sides = (
        (newer, ">", "<", "asc", "desc"),
        (older, "<", ">", "desc", "asc"),
    )
    parts = [[*_of_key(dataset, key), "| take 1", *SHOWN_COLUMNS]]
    for range_, beyond, other, order, digest_order in sides:
        parts.append(
            [
                logs_of(dataset),
                f"| where {range_} and {same}",
                f"| extend segplane_digest = {DIGEST}",
                f"| where timestamp {beyond} {time} or timestamp_nanos {beyond} {remainder}"
                f" or (timestamp_nanos == {remainder} and segplane_digest {other} {digest})",
                f"| sort by timestamp {order}, timestamp_nanos {order},"
                f" segplane_digest {digest_order}",
                f"| take {SIDE_ROWS}",
                *SHOWN_COLUMNS,
            ]
        )
    union = ",\n".join(f"({chr(10).join(part)})" for part in parts)
    return f"union {union}\n| sort by timestamp desc, timestamp_nanos desc, segplane_digest asc"


def read_around(content: bytes, key: RecordKey) -> Around:
    """Return the records of a result of `around_query`."""
    rows = rows_of(content, 0)
    return Around(rows, next((n for n, row in enumerate(rows) if row.key == key), 0))


def _of_key(dataset: str, key: RecordKey) -> list[str]:
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    return [
        logs_of(dataset),
        f"| where timestamp == {time} and timestamp_nanos == {remainder}",
        f"| extend segplane_digest = {DIGEST}",
        f"| where segplane_digest == {text_literal(key.digest)}",
    ]
