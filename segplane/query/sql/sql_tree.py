"""Tables and functions of a query in SQL, taken from the tree of DuckDB's own parser.

The check is of DuckDB's own tree: a second parser might read a text in another way. Every function,
in any position, must be one that a query may call. Every table must be a dataset, a view, a signal
of a dataset, or a common table that is in scope.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from segplane.query.errors import QueryError
from segplane.query.sql import sql_slips
from segplane.query.sql.sql_functions import is_allowed
from segplane.query.sql.sql_parser import parser
from segplane.read.rows.duckdb_functions import names as own_names

_Names = frozenset[str]
_NONE: _Names = frozenset()


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table as a query names it; `schema` is "" without one."""

    name: str
    schema: str = ""


def tables_of(text: str) -> tuple[NamedTable, ...]:
    """Check every function of one SELECT, and return the tables it reads. Raises QueryError."""
    tables = dict.fromkeys(_tables(_tree(text), _NONE))
    return tuple(tables)


def _tree(text: str) -> Any:
    with parser().cursor() as connection:
        try:
            row = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone()
        except duckdb.Error as error:
            message = str(error).splitlines()[0]
            raise QueryError(sql_slips.not_sql(message, text)) from None
    assert row is not None
    tree = json.loads(row[0])
    if tree["error"]:
        message = str(tree["error_message"]).splitlines()[0]
        if tree.get("error_type") == "not implemented":
            raise QueryError("a query is one SELECT: leave other statements out")
        raise QueryError(sql_slips.not_sql(message, text))
    if len(tree["statements"]) != 1:
        raise QueryError("a query is one SELECT: leave other statements out")
    return tree["statements"][0]


def _tables(node: Any, common: _Names) -> Iterator[NamedTable]:
    """Yield the tables below a node that sees these common tables."""
    if isinstance(node, list):
        for element in node:
            yield from _tables(element, common)
        return
    if not isinstance(node, dict):
        return
    if node.get("type") == "TABLE_FUNCTION":
        yield from _table_function(node, common)
        return
    _check(node)
    entries = (node.get("cte_map") or {}).get("map") or []
    for entry in entries:
        # One sees those before it, and not itself: there its name is a table of the catalog.
        yield from _tables(entry["value"], common)
        common |= {str(entry["key"]).lower()}
    if node.get("type") == "BASE_TABLE":
        yield from _base_table(node, common)
    recursive_names = frozenset([str(node["cte_name"]).lower()]) if _is_recursive(node) else _NONE
    for key, value in node.items():
        if key != "cte_map":
            # The first part of a recursive table is its beginning, and does not see it.
            yield from _tables(value, common if key == "left" else common | recursive_names)


def _is_recursive(node: dict[str, Any]) -> bool:
    return node.get("type") == "RECURSIVE_CTE_NODE"


def _table_function(node: dict[str, Any], common: _Names) -> Iterator[NamedTable]:
    function = node["function"]
    if not is_allowed(str(function["function_name"]), "table", _NONE):
        name = str(function["function_name"])
        raise QueryError(f"function {name[:80]!r} gives no table here: name a dataset or a view")
    yield from _tables(list(function.values()), common)
    yield from _tables([value for key, value in node.items() if key != "function"], common)


def _base_table(node: dict[str, Any], common: _Names) -> Iterator[NamedTable]:
    name, schema = str(node["table_name"]), str(node["schema_name"])
    if node["catalog_name"]:
        shown = f"{node['catalog_name']}.{schema}.{name}"
        raise QueryError(f"table {shown[:80]!r} has a catalog: name a dataset or a view")
    if schema or name.lower() not in common:
        yield NamedTable(name, schema)


def _check(node: dict[str, Any]) -> None:
    """Refuse a function that is not allowed, and commands that name no table."""
    if node.get("type") == "SHOW_REF" and not node.get("query"):
        raise QueryError("SHOW is not available in queries: name a dataset or a view")
    name = node.get("function_name")
    if name is not None and not is_allowed(str(name), "row", _own()):
        raise QueryError(f"function {str(name)[:80]!r} is not available in queries")


@cache
def _own() -> _Names:
    return frozenset(own_names())
