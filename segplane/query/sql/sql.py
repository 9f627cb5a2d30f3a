"""Queries in DuckDB's SQL: one SELECT over datasets and views, checked on its tree and planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kql.dataset_table import COMPUTED, FORMAT_COLUMNS, SIGNAL_COLUMNS, STORED, TIME_COLUMN, VALUE
from kql.errors import suggestion
from kql.pushdown.bounds import Interval
from kql.pushdown.reads import DatasetRead, reads_of
from kql.scope import CheckedQuery
from kql.sql.relations import to_sql
from kql.typed import Table
from segplane.query.errors import QueryError
from segplane.query.plan import QueryPlan
from segplane.query.quoting import FREE_MEMORY, quoted
from segplane.query.sql import sql_constants, sql_points, sql_slips, sql_words
from segplane.query.sql.sql_times import where_times
from segplane.query.sql.sql_tree import NamedTable, tables_of

TEXT_CHARACTERS_MAX = 65_536
_WORDS = frozenset(["select", "with", "from"])


def is_sql(text: str) -> bool:
    """Return whether a text is SQL rather than KQL, by its first word and what follows."""
    words = text.split(None, 2)
    if not words or words[0].lower().rstrip("(") not in _WORDS:
        return False
    # `from | count` would be a dataset of that name.
    return len(words) > 1 and not words[1].startswith("|")


def plan_sql(text: str, tables: Mapping[str, Table | CheckedQuery]) -> QueryPlan:
    """Check a query in SQL and plan it. Raises QueryError."""
    tree = _parsed(text)
    mentioned = _mentioned(tree)
    own_names = frozenset([VALUE]) if sql_points.gives_value(tree) else frozenset[str]()
    has_flags = sql_points.have_flags(tree, lambda name: isinstance(tables.get(name), Table))
    if mentioned is not None and has_flags:
        mentioned |= {"flags"}
    reads: list[DatasetRead] = []
    views: dict[str, str] = {}
    signals: dict[tuple[str, str], tuple[str, ...]] = {}
    names: dict[str, None] = {}
    constants: dict[str, Mapping[str, str]] = {}
    named_tables: dict[str, Table | CheckedQuery] = {}
    for table_name in tables_of(text):
        name = table_name.schema or table_name.name
        table = named_tables[name] = _table(name, tables)
        names.update(dict.fromkeys(table.columns))
        if isinstance(table, Table):
            read = _read(table, mentioned, where_times(tree, name), own_names)
            constants[name] = sql_constants.read_by(tree, table.constants)
            read = replace(read, constants=tuple(constants[name].items()))
            reads.append(read)
            if table_name.schema:
                signals[name, _signal(table_name)] = _of_signal(table, read, _signal(table_name))
        elif table_name.schema:
            raise QueryError(f"{name[:80]!r} is a view: only datasets have tables of signals")
        else:
            views[name] = to_sql(table, "duckdb")
            reads += reads_of(table)
    if (rewritten := sql_constants.without_in_stars(tree, constants)) is not None:
        text = rewritten
        # Another parser wrote it.
        tables_of(text)
    warnings = sql_words.warnings_of(tree, sql_words.common_words(named_tables))
    return QueryPlan(text, _merged(reads), None, views, signals, tuple(names), has_flags, warnings)


def _signal(table: NamedTable) -> str:
    """Return the signal of a dataset that a table names as web.logs."""
    signal = table.name.lower()
    if signal in SIGNAL_COLUMNS:
        return signal
    shown = f"{table.schema}.{table.name}"
    signals = ", ".join(f"{table.schema}.{name}" for name in SIGNAL_COLUMNS)
    raise QueryError(f"there is no table {shown[:80]!r}: of that dataset there are {signals[:200]}")


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
        raise QueryError(sql_slips.not_sql(message, text)) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError("a query is one SELECT: leave other statements out")
    tree = statements[0]
    for node in tree.walk():
        _check(node)
    return tree


def _check(node: exp.Expr) -> None:
    """Refuse any part that does not belong to a SELECT over datasets and views."""
    if isinstance(node, exp.DML | exp.DDL | exp.Command | exp.Into) and not isinstance(
        node, exp.Query
    ):
        raise QueryError(f"a query is one SELECT, without {node.key.upper()}")


def _table(name: str, tables: Mapping[str, Table | CheckedQuery]) -> Table | CheckedQuery:
    if name in tables:
        return tables[name]
    hint = suggestion(name[:80], tables, "see segplane datasets list")
    raise QueryError(f"there is no dataset or view {name[:80]!r}: {hint}")


def _mentioned(tree: exp.Query) -> frozenset[str] | None:
    """Return the names of columns in a query, in lower case; None if a star stands for all."""
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if next(stars, None) is not None or any(
        table.find_ancestor(exp.Select) is None for table in tree.find_all(exp.Table)
    ):
        return None
    return frozenset(name.name.lower() for name in tree.find_all(exp.Identifier))


def _read(
    table: Table, mentioned: frozenset[str] | None, times: Interval, own_names: frozenset[str]
) -> DatasetRead:
    """Return the stored columns that a query may read, at least one, and the computed ones."""
    stored = [n for n in table.columns if n not in table.stored and n not in table.computed]
    stored += [s for shown, s in STORED.items() if shown in table.stored and s not in stored]
    words = [n for n in table.computed if mentioned is None or n in mentioned]
    words = [n for n in words if n not in own_names]
    if mentioned is not None:
        sources = set().union(*(COMPUTED[name][0] for name in words))
        # Tables of signals are found by it.
        needed = (
            {*mentioned, *sources, "signal"}
            if SIGNAL_COLUMNS.keys() & mentioned
            else {*mentioned, *sources}
        )
        stored = [name for name in stored if name.lower() in needed] or [TIME_COLUMN]
    return DatasetRead(table.name, tuple(stored), times, tuple(words))


def _of_signal(table: Table, read: DatasetRead, signal: str) -> tuple[str, ...]:
    """Return the columns of a signal among those that are read."""
    other_columns = set().union(*SIGNAL_COLUMNS.values()) - SIGNAL_COLUMNS[signal]
    promoted = set(table.columns) - set(FORMAT_COLUMNS) - set(COMPUTED)
    every = (*read.columns, *read.words, *(name for name, _ in read.constants))
    return tuple(n for n in every if n not in other_columns or n in promoted)


def _merged(reads: list[DatasetRead]) -> tuple[DatasetRead, ...]:
    """Return one read a dataset: all columns, and the hull of the times."""
    merged: dict[str, DatasetRead] = {}
    for read in reads:
        former = merged.get(read.name)
        if former is not None:
            columns = tuple(dict.fromkeys((*former.columns, *read.columns)))
            words = tuple(dict.fromkeys((*former.words, *read.words)))
            times = former.times.hull(read.times)
            constants = former.constants or read.constants
            read = DatasetRead(read.name, columns, times, words, constants=constants)
        merged[read.name] = read
    return tuple(merged.values())


def view_statements(plan: QueryPlan) -> list[str]:
    """Return the statements that define the views of a plan over its datasets."""
    statements = [
        f"CREATE TEMPORARY VIEW {quoted(name)} AS {sql}" for name, sql in plan.views.items()
    ]
    if any(dataset.lower() == "memory" for dataset, _ in plan.signals):
        statements += FREE_MEMORY
    for (dataset, signal), names in plan.signals.items():
        columns = ", ".join(map(quoted, names))
        statements += [
            f"CREATE SCHEMA IF NOT EXISTS {quoted(dataset)}",
            f"CREATE VIEW {quoted(dataset)}.{quoted(signal)} AS SELECT {columns}"  # noqa: S608
            f" FROM temp.main.{quoted(dataset)} WHERE signal = '{signal}'",
        ]
    return statements
