"""The records of a service, or of a resource, around one record, in the order of the list."""

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
# Records that are equal to it, itself too.
EQUAL_MAX = 50
_MINUTE = 60 * 10**9
# A second query is for services with few records.
SIDE_NANOS = (10 * _MINUTE, 24 * 60 * _MINUTE)
_MICROS = 1_000
_RESOURCE = "hash_sha256(tostring(resource_attributes))"
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
    """Records newest first; `position` is that of the one that was looked for.

    `equals` is the number of records with its key.
    """

    rows: Sequence[LogRow]
    position: int
    equals: int = 1

    @property
    def older(self) -> int:
        """The number of records before it."""
        return len(self.rows) - self.position - self.equals

    def is_full(self) -> bool:
        """True if there are enough records on both sides."""
        return self.position >= SIDE_ROWS and self.older >= SIDE_ROWS


@dataclass(frozen=True, slots=True)
class AroundOrigin:
    """The service of a record, "" for none, and the digest of all attributes of its resource."""

    service: str
    resource_digest: str


def origin_query(dataset: str, key: RecordKey) -> str:
    """Return the query for the origin of a record; no row if there is no such record."""
    project = f"| project service_name, resource = {_RESOURCE}"
    return "\n".join([*_of_key(dataset, key), "| take 1", project])


def read_origin(content: bytes) -> AroundOrigin | None:
    """Return the origin of a record, None without a record."""
    rows = json.loads(content)
    return AroundOrigin(rows[0]["service_name"] or "", rows[0]["resource"]) if rows else None


def around_query(
    dataset: str,
    key: RecordKey,
    origin: AroundOrigin,
    side_nanos: int,
    *,
    of_resource: bool = False,
) -> str:
    """Return the query for a record and those of its service on both sides of it.

    With `of_resource`, those of its service whose resource has the same attributes. Equal records
    are in it as often as they are there.
    """
    service = origin.service
    same = f"service_name == {text_literal(service)}" if service else "isempty(service_name)"
    if of_resource:
        same += f" and {_RESOURCE} == {text_literal(origin.resource_digest)}"
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    digest = text_literal(key.digest)
    newer = absolute_range(key.nanos, key.nanos + side_nanos).kql()
    older = absolute_range(key.nanos - side_nanos, key.nanos + 1).kql()
    sides = (
        (newer, ">", "<", "asc", "desc"),
        (older, "<", ">", "desc", "asc"),
    )
    parts = [[*_of_key(dataset, key), f"| take {EQUAL_MAX}", *SHOWN_COLUMNS]]
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
    places = [n for n, row in enumerate(rows) if row.key == key] or [0]
    return Around(rows, places[0], len(places))


def _of_key(dataset: str, key: RecordKey) -> list[str]:
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    return [
        logs_of(dataset),
        f"| where timestamp == {time} and timestamp_nanos == {remainder}",
        f"| extend segplane_digest = {DIGEST}",
        f"| where segplane_digest == {text_literal(key.digest)}",
    ]
