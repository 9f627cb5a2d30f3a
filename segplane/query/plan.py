"""Plans of queries, made before anything is opened: columns, times, SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kql.errors import KqlError
from kql.pushdown.automatic import with_hidden_columns
from kql.pushdown.excluded import without_excluded
from kql.pushdown.reads import DatasetRead, reads_of
from kql.pushdown.stored_words import warnings_of
from kql.queries import compile_query
from kql.scope import CheckedQuery
from kql.sql.relations import to_sql
from kql.typed import Columns, Table
from segplane.query.errors import QueryError


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query for DuckDB: SQL over tables named like the datasets, and its reads of each.

    `columns` are the names and types of the result; of a query in SQL they are not known. `views`
    are further names, each with its SQL over the tables; `signals` are tables of a dataset and a
    signal, with their columns. `names` are those of all columns that a query in SQL may name.
    """

    sql: str
    reads: tuple[DatasetRead, ...]
    columns: Columns | None
    views: Mapping[str, str] = field(default_factory=dict)
    signals: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    # Whether every rate() of a query in SQL is over a table with the flags of points.
    has_flags: bool = False
    # Sentences for the caller: comparisons that find nothing.
    warnings: tuple[str, ...] = ()


def plan_kql(
    text: str, tables: Mapping[str, Table | CheckedQuery], now_micros: int, group: str = ""
) -> QueryPlan:
    """Check a query in KQL and plan it. Raises QueryError with line, column and caret.

    `group` is that of datasets which are named without one, "" the default group.
    """
    try:
        state = compile_query(text, tables, now_micros, group)
        state = replace(state, relation=without_excluded(state.relation))
        shown, hidden = with_hidden_columns(state)
        reads = tuple(replace(r, hidden=hidden.get(r.name, ())) for r in reads_of(state))
        warnings = warnings_of(state.relation)
        return QueryPlan(to_sql(shown, "duckdb"), reads, state.columns, warnings=warnings)
    except KqlError as error:
        located = error if error.line else error.at(text)
        raise QueryError(str(located), located.excerpt(text)) from None
