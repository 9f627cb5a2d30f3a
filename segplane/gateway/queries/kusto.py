"""The part of Kusto's REST API that the azure-kusto-data package uses.

Queries go to /v2/rest/query and control commands to /v1/rest/mgmt. A group of datasets is a
database, and the default group is `segplane`, as is any other name until a first group exists.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from segments.dataset_names import DEFAULT_DATABASE
from segplane.gateway.http.bodies import answer, body
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.http.responses import Endpoint, answered
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.requests import adjusts_time
from segplane.gateway.queries.responses import refuse_kusto
from segplane.gateway.queries.service import QueryService
from segplane.query.errors import QueryError
from segplane.query.tables import CatalogTables
from segplane.read import groups
from segplane.read.lookup import view_names

DATABASE = DEFAULT_DATABASE
_TABLES_MAX = 10_000
_TABLE_SCHEMA = re.compile(
    r"\.show\s+table\s+(?:(\w+)|\[\s*'([^']+)'\s*\]|\[\s*\"([^\"]+)\"\s*\])\s+cslschema"
)
Rows = list[list[str]]


class KustoService:
    """Answers Kusto's clients by the queries and the catalog of the gateway."""

    def __init__(self, queries: QueryService) -> None:
        self._queries = queries

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each method and path."""
        return {
            "POST /v2/rest/query": partial(answered, "kusto", self._query, refuse_kusto),
            "POST /v1/rest/mgmt": partial(answered, "kusto", self._command, refuse_kusto),
        }

    async def _query(self, request: Request) -> Response:
        caller = await self._queries.caller(request)
        text, database, properties = await _asked(request)
        group = await self._group(caller, database)
        options = properties.get("Options")
        is_adjusted = isinstance(options, Mapping) and adjusts_time(options)
        task = QueryTask(text, "kql", "kusto", group=group, adjusts_time=is_adjusted)
        return await self._queries.run(request, caller, task)

    async def _command(self, request: Request) -> Response:
        caller = await self._queries.caller(request)
        text, database, _ = await _asked(request)
        read = command(text, await self._group(caller, database))
        names, rows = await self._queries.read_catalog(caller, read)
        columns = [
            {"ColumnName": name, "DataType": "String", "ColumnType": "string"} for name in names
        ]
        content = {"Tables": [{"TableName": "Table_0", "Columns": columns, "Rows": rows}]}
        return answer(content)

    async def _group(self, caller: Caller, database: str) -> str:
        """Return the group that a database is, "" for the default one. Raises QueryRefusal."""
        if database in ("", DATABASE):
            return ""
        return await self._queries.read_catalog(caller, partial(group_of, database))


def group_of(database: str, client: MetaClient) -> str:
    """Return the group that a database is, "" for the default one. Raises QueryRefusal."""
    if groups.exists(client, database):
        return database
    if groups.page(client, "", 1)[0]:
        raise QueryRefusal(
            f"there is no database {database[:80]!r}: .show databases names them, and {DATABASE}"
            " is the default group of datasets"
        )
    return ""


def command(text: str, group: str = "") -> Callable[[MetaClient], tuple[tuple[str, ...], Rows]]:
    """Return what answers a control command: names of columns, and rows. Raises QueryRefusal."""
    words = " ".join(text.split())
    if words == ".show databases":
        return _databases
    if words == ".show tables":
        return partial(_tables, group)
    if match := _TABLE_SCHEMA.fullmatch(text.strip()):
        return partial(_schema, group, next(name for name in match.groups() if name))
    raise QueryRefusal(
        f"{words[:80]!r} is not known: there are .show databases, .show tables and"
        " .show table NAME cslschema"
    )


def _databases(client: MetaClient) -> tuple[tuple[str, ...], Rows]:
    names = [DATABASE, *islice(groups.names(client), _TABLES_MAX)]
    return ("DatabaseName", "PrettyName"), [[name, ""] for name in names]


def _tables(group: str, client: MetaClient) -> tuple[tuple[str, ...], Rows]:
    names = islice(groups.all_dataset_names(client, group), _TABLES_MAX)
    every = names if group else chain(names, view_names(client))
    rows = [[name, group or DATABASE, "", ""] for name in dict.fromkeys(every)]
    return _TABLE_COLUMNS, rows[:_TABLES_MAX]


def _schema(group: str, name: str, client: MetaClient) -> tuple[tuple[str, ...], Rows]:
    whole = f"{group}/{name}" if group else name
    try:
        table = CatalogTables(client).get(whole)
    except QueryError as error:
        raise QueryRefusal(str(error)) from None
    if table is None:
        raise QueryRefusal(f"there is no dataset or view {name[:80]!r}: .show tables names them")
    schema = ",".join(f"{_quoted(column)}:{type_}" for column, type_ in table.columns.items())
    return ("TableName", "Schema", *_TABLE_COLUMNS[1:]), [[name, schema, group or DATABASE, "", ""]]


_TABLE_COLUMNS = ("TableName", "DatabaseName", "Folder", "DocString")


def _quoted(column: str) -> str:
    return column if re.fullmatch(r"[A-Za-z_]\w*", column) else f"['{column}']"


async def _asked(request: Request) -> tuple[str, str, Mapping[str, Any]]:
    """Return a request's text, database and properties; raises QueryRefusal."""
    content = await body(request)
    text = content.get("csl") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise QueryRefusal("csl is not text: send a query in KQL or a control command")
    properties = _properties(content.get("properties"))
    if properties.get("Parameters"):
        raise QueryRefusal("query parameters are not taken: write their values into the query")
    database = content.get("db") or ""
    if not isinstance(database, str):
        raise QueryRefusal("db is not text: send the name of a database")
    return text, database, properties


def _properties(properties: Any) -> Mapping[str, Any]:
    """Return a request's properties, which may be JSON in a text."""
    try:
        parsed = json.loads(properties) if isinstance(properties, str) else properties
    except (ValueError, RecursionError):
        raise QueryRefusal("properties are not JSON") from None
    return parsed if isinstance(parsed, Mapping) else {}
