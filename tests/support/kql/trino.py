"""Trino as it runs translated queries over the rows of `tests.support.kql.rows`."""

import math
from datetime import UTC, datetime
from typing import Any

from kql.queries import compile_query
from kql.sql.relations import to_sql
from kql.types import KqlType
from tests.support.gateway.trino import TrinoServer
from tests.support.kql.engines import NOW_MICROS, Rows
from tests.support.kql.rows import COLUMNS, ROWS, TABLE

_TYPES: dict[KqlType, str] = {
    "bool": "boolean",
    "int": "integer",
    "long": "bigint",
    "real": "double",
    "string": "varchar",
    "datetime": "timestamp(6) with time zone",
    "timespan": "bigint",
    "guid": "varchar",
    "dynamic": "varchar",
}
_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}


class Trino:
    """A node of Trino, its session in UTC."""

    def __init__(self, server: TrinoServer) -> None:
        self._server = server
        values = ", ".join(f"({', '.join(map(_literal, row, COLUMNS.values()))})" for row in ROWS)
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        self._rows = f'WITH "rows" AS (SELECT * FROM (VALUES {values}) AS v ({names}))'  # noqa: S608

    def run(self, query: str) -> Rows:
        """Run a query in KQL. Raises NotOnEngine."""
        state = compile_query(query, {"rows": TABLE}, NOW_MICROS)
        rows, _ = self._server.query(f"{self._rows} {to_sql(state, 'trino')}")
        types = state.columns.values()
        return [tuple(map(_plain, row.values(), types)) for row in rows]


def _literal(value: Any, type_: KqlType) -> str:
    if value is None:
        text = "NULL"
    elif isinstance(value, float):
        java = str(value).replace("nan", "NaN").replace("inf", "Infinity")
        text = f"double '{java}'"
    elif isinstance(value, datetime):
        text = f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f} UTC'"
    elif isinstance(value, str):
        text = "'" + value.replace("'", "''") + "'"
    else:
        text = str(value)
    return f"CAST({text} AS {_TYPES[type_]})"


def _plain(value: Any, type_: KqlType) -> Any:
    if value is None:
        return None
    if type_ == "real":
        return _INFINITE.get(value, value)
    if type_ != "datetime":
        return value
    if isinstance(value, int):
        moment = datetime.fromtimestamp(value // 1_000_000, UTC).replace(
            microsecond=value % 1_000_000
        )
    else:
        # In a zone that is not UTC, as the value was given.
        moment = datetime.fromisoformat(value.replace(" +", "+").replace(" -", "-"))
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
