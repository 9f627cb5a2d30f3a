"""Plans of queries, made before anything is opened: columns, times, SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from segplane.kql.bounds import ANY, Interval, time_bounds
from segplane.kql.dataset_table import TIME_COLUMN
from segplane.kql.errors import KqlError
from segplane.kql.pruning import pruned
from segplane.kql.queries import compile_query
from segplane.kql.sql.relations import to_sql
from segplane.kql.state import CheckedQuery
from segplane.kql.typed import Columns, Relation, Scan, Table, inputs
from segplane.query.errors import QueryError

_NANOS_PER_MICRO = 1_000


@dataclass(frozen=True, slots=True)
class DatasetRead:
    """The columns of a dataset that a query needs, as stored, and the times that matter to it."""

    name: str
    columns: tuple[str, ...]
    times: Interval = ANY

    @property
    def is_empty(self) -> bool:
        """True if no record can matter."""
        low, high = self.times
        return low is not None and high is not None and low > high

    def nanos(self) -> tuple[int | None, int | None]:
        """Return the times as nanoseconds, [start, end)."""
        low, high = self.times
        start = None if low is None else low * _NANOS_PER_MICRO
        # A column's microsecond stands for all of its nanoseconds.
        return start, None if high is None else (high + 1) * _NANOS_PER_MICRO


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query for DuckDB: SQL over tables named as the datasets are, and what each has to hold.

    `columns` are the names and types of the result; of a query in SQL they are not known. `views`
    are further names, each with its SQL over the tables.
    """

    sql: str
    reads: tuple[DatasetRead, ...]
    columns: Columns | None
    views: Mapping[str, str] = field(default_factory=dict)


def plan_kql(text: str, tables: Mapping[str, Table | CheckedQuery], now_micros: int) -> QueryPlan:
    """Check a query in KQL and plan it. Raises QueryError with line, column and caret."""
    try:
        state = compile_query(text, tables, now_micros)
        return QueryPlan(to_sql(state, "duckdb"), reads_of(state), state.columns)
    except KqlError as error:
        located = error if error.line else error.at(text)
        raise QueryError(str(located), located.excerpt(text)) from None


def reads_of(state: CheckedQuery) -> tuple[DatasetRead, ...]:
    """Return what a checked query needs of each dataset."""
    relation = pruned(state).relation
    bounds = time_bounds(relation, TIME_COLUMN)
    columns: dict[str, dict[str, None]] = {}
    for scan in _scans(relation):
        stored = (scan.table.stored.get(name, name) for name in scan.columns)
        columns.setdefault(scan.table.name, {}).update(dict.fromkeys(stored))
    return tuple(DatasetRead(name, tuple(names), bounds[name]) for name, names in columns.items())


def _scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    for below in inputs(relation):
        yield from _scans(below)
