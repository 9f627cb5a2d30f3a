"""Queries in DuckDB's SQL: one SELECT over datasets and views, checked on its tree and planned."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from segplane.kql.dataset_table import STORED, TIME_COLUMN
from segplane.kql.reads import DatasetRead, reads_of
from segplane.kql.scope import CheckedQuery
from segplane.kql.sql.relations import to_sql
from segplane.kql.typed import Table
from segplane.query.errors import QueryError
from segplane.query.plan import QueryPlan
from segplane.query.sources import quoted
from segplane.query.sql_times import where_times
from segplane.query.sql_tree import tables_of

TEXT_CHARACTERS_MAX = 65_536
_WORDS = frozenset(["select", "with", "from"])


def is_sql(text: str) -> bool:
    """Tell whether a text is SQL rather than KQL, by its first word and what follows."""
    words = text.split(None, 2)
    if not words or words[0].lower().rstrip("(") not in _WORDS:
        return False
    # `from | count` would be a dataset of that name.
    return len(words) > 1 and not words[1].startswith("|")


def plan_sql(text: str, tables: Mapping[str, Table | CheckedQuery]) -> QueryPlan:
    """Check a query in SQL and plan it. Raises QueryError."""
    tree = _parsed(text)
    named: dict[str, Table | CheckedQuery] = {}
    for table in tables_of(text):
        if table.schema:
            shown = f"{table.schema}.{table.name}"
            raise QueryError(f"table {shown[:80]!r} has a schema: name a dataset or a view")
        named[table.name] = _table(table.name, tables)
    mentioned = _mentioned(tree)
    reads: list[DatasetRead] = []
    views: dict[str, str] = {}
    for name, found in named.items():
        if isinstance(found, CheckedQuery):
            views[name] = to_sql(found, "duckdb")
            reads += reads_of(found)
        else:
            reads.append(DatasetRead(name, _columns(found, mentioned), where_times(tree, name)))
    return QueryPlan(text, _merged(reads), None, views)


def _parsed(text: str) -> exp.Query:
    if len(text) > TEXT_CHARACTERS_MAX:
        raise QueryError(
            f"the query has {len(text):,} characters: at most {TEXT_CHARACTERS_MAX:,} are read"
        )
    try:
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except (SqlglotError, RecursionError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        # sqlglot underlines with escape sequences of terminals.
        message = "".join(c for c in lines[0] if c.isprintable())
        raise QueryError(f"this is no SQL: {message}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError("a query is one SELECT: leave other statements out")
    tree = statements[0]
    for node in tree.walk():
        _check(node)
    return tree


def _check(node: exp.Expr) -> None:
    """Refuse what is no part of a SELECT over datasets and views."""
    if isinstance(node, exp.DML | exp.DDL | exp.Command | exp.Into) and not isinstance(
        node, exp.Query
    ):
        raise QueryError(f"a query is one SELECT, without {node.key.upper()}")


def _table(name: str, tables: Mapping[str, Table | CheckedQuery]) -> Table | CheckedQuery:
    if name in tables:
        return tables[name]
    closest = get_close_matches(name[:80], list(tables), 1)
    hint = f"did you mean {closest[0]!r}?" if closest else "see segplane datasets list"
    raise QueryError(f"there is no dataset or view {name[:80]!r}: {hint}")


def _mentioned(tree: exp.Query) -> frozenset[str] | None:
    """Return the names of columns in a query, in lower case; None where a star stands for all."""
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if next(stars, None) is not None or any(
        table.find_ancestor(exp.Select) is None for table in tree.find_all(exp.Table)
    ):
        return None
    return frozenset(name.name.lower() for name in tree.find_all(exp.Identifier))


def _columns(table: Table, mentioned: frozenset[str] | None) -> tuple[str, ...]:
    """Return the stored columns that a query may read, at least one."""
    stored = [name for name in table.columns if name not in table.stored]
    stored += [s for shown, s in STORED.items() if shown in table.stored and s not in stored]
    if mentioned is None:
        return tuple(stored)
    return tuple(name for name in stored if name.lower() in mentioned) or (TIME_COLUMN,)


def _merged(reads: list[DatasetRead]) -> tuple[DatasetRead, ...]:
    """Return one read a dataset: all columns, and the hull of the times."""
    merged: dict[str, DatasetRead] = {}
    for read in reads:
        known = merged.get(read.name)
        if known is not None:
            columns = tuple(dict.fromkeys((*known.columns, *read.columns)))
            read = DatasetRead(read.name, columns, known.times.hull(read.times))
        merged[read.name] = read
    return tuple(merged.values())


def view_statements(plan: QueryPlan) -> list[str]:
    """Return the statements that define the views of a plan over its datasets."""
    return [f"CREATE TEMPORARY VIEW {quoted(name)} AS {sql}" for name, sql in plan.views.items()]
