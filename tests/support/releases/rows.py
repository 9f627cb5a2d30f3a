"""Rows and replies of a recording, as later releases have to show them."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

# Of entries: they may be further on than 0.2.0 had them, see ADR 20.
POSITIONS = ("merged_offset", "merged_ingest_time_nanos", "stream_offset")
_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    " AND table_name <> 'alembic_version' ORDER BY table_name, ordinal_position"
)
Rows = Mapping[str, list[tuple[Any, ...]]]


def columns_of(url: str) -> dict[str, list[str]]:
    """The columns of each table."""
    with psycopg.connect(url) as connection:
        tables: dict[str, list[str]] = {}
        for table, column in connection.execute(_COLUMNS):
            tables.setdefault(table, []).append(column)
        return tables


def rows_of(url: str, columns: Mapping[str, list[str]]) -> Rows:
    """Read these columns of all tables, as text and in a fixed order."""
    with psycopg.connect(url) as connection:
        return {
            table: connection.execute(
                sql.SQL("SELECT ROW({})::text FROM {} ORDER BY 1").format(
                    sql.SQL(", ").join(map(sql.Identifier, names)), sql.Identifier(table)
                )
            ).fetchall()
            for table, names in columns.items()
        }


def explicit(value: Any) -> Any:
    """Skip the positions of entries: 0.2.0 moved them only by calls, now they are implied."""
    if isinstance(value, list):
        return [explicit(item) for item in value]
    if isinstance(value, dict):
        return {key: explicit(item) for key, item in value.items() if key not in POSITIONS}
    return value


def implied(reply: Any) -> Iterator[int]:
    """Yield the merged offsets of all entries, in the reply's order."""
    for stream in reply["streams"]:
        for entry in stream.get("datasets", ()):
            yield int(entry["merged_offset"])
