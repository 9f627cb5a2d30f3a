"""Names while a pipeline is checked: an expression's scope, the relation's columns, new names."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from kql.errors import KqlError, UnknownColumn, quoted, suggestion
from kql.syntax import tree as syntax
from kql.typed import (
    Columns,
    ColumnValue,
    Constant,
    Expression,
    Ordering,
    Promoted,
    Relation,
    Scan,
    Select,
    Table,
)
from kql.walks import written_size

# Levels of a tree that is walked by recursion, here and by what translates it.
LEVELS_MAX = 50
# Names that let gave are written out wherever they are used.
NODES_MAX = 20_000
COLUMNS_MAX = 1_000
# Each is a join.
SUBQUERIES_MAX = 20
# Of groups that a query reads whole.
GROUP_DATASETS_MAX = 1_000
# The default group, which has no name; this package imports nothing that knows it.
_DEFAULT_GROUP = ("segplane", "default")


class CheckBudget:
    """Limits on the work of checking one query, with the names of let written out."""

    def __init__(self) -> None:
        self._nodes = 0
        self._levels = 0
        self._subqueries = 0
        self._group_datasets: set[str] = set()
        self._sizes: dict[int, tuple[Expression, int]] = {}

    def check_size(self, expression: Expression, offset: int) -> None:
        """Refuse an expression that is too large once its shared parts are written out."""
        if written_size(expression, self._sizes) > NODES_MAX:
            hint = f"at most {NODES_MAX:,} are checked: compute parts of it with extend"
            raise KqlError(offset, "the expression has too many parts", hint)

    def count_subquery(self, offset: int) -> None:
        """Count a query within an expression."""
        self._subqueries += 1
        if self._subqueries > SUBQUERIES_MAX:
            hint = f"at most {SUBQUERIES_MAX} are joined: name parts of the query with let"
            raise KqlError(offset, "too many expressions hold a query", hint)

    def count_group(self, names: Iterable[str], offset: int) -> None:
        """Count the datasets of a group that is read whole."""
        self._group_datasets.update(names)
        if len(self._group_datasets) > GROUP_DATASETS_MAX:
            what = f"the group has more than {GROUP_DATASETS_MAX:,} datasets"
            hint = "that many are read at most: name those that matter"
            raise KqlError(offset, what, hint)

    @contextmanager
    def level(self, offset: int) -> Iterator[None]:
        """Count one node, and one level while the block runs."""
        self._nodes += 1
        if self._nodes > NODES_MAX:
            hint = f"at most {NODES_MAX:,} are checked: use fewer names of let"
            raise KqlError(offset, "the query has too many expressions", hint)
        if self._levels >= LEVELS_MAX:
            hint = f"at most {LEVELS_MAX} levels are checked: compute parts of it with extend"
            raise KqlError(offset, "expressions are nested too deeply", hint)
        self._levels += 1
        try:
            yield
        finally:
            self._levels -= 1


class GroupedTables(Mapping[str, "Table | CheckedQuery"]):
    """Tables by name, which know the datasets of a group."""

    @abstractmethod
    def names_in(self, group: str, most: int) -> Iterable[str]:
        """Return the names of a group's datasets, "" = the default one; one beyond `most` ends."""


@dataclass(frozen=True, slots=True)
class Context:
    """Tables, names of let, the time and the limits of a whole query.

    `now` is in microseconds since 1970 and None in a projection, whose rows must not depend on when
    it runs.
    """

    # A view is the relation that it stands for.
    tables: Mapping[str, "Table | CheckedQuery"]
    now: int | None
    # Checks a pipeline within the query; the last argument is the input of one without a source.
    check: Callable[[syntax.QueryPipeline, "Context", "CheckedQuery | None"], "CheckedQuery"]
    names: syntax.Names = field(default_factory=syntax.Names)
    # Parameters of the function whose body this is.
    bound: Mapping[str, Expression] = field(default_factory=dict)
    budget: CheckBudget = field(default_factory=CheckBudget)
    # The group of tables that are named without one; "" = the default group.
    group: str = ""

    def pipeline(
        self, pipeline: syntax.QueryPipeline, start: "CheckedQuery | None" = None
    ) -> "CheckedQuery":
        """Check a pipeline within the query."""
        return self.check(pipeline, self, start)

    def group_of(self, database: str | None) -> str:
        """Return the group that a table's database names, "" for the default one."""
        group = self.group if database is None else database
        return "" if group in _DEFAULT_GROUP else group


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns that an expression may name, and whether aggregates may stand here."""

    columns: Columns
    context: Context
    promoted: tuple[Promoted, ...] = ()
    is_aggregated: bool = False
    # Values of further names, which are no columns.
    constants: Mapping[str, Expression] = field(default_factory=dict)

    def plain(self) -> "Scope":
        """Return the scope of an aggregate's arguments, in which no aggregate may stand."""
        return replace(self, is_aggregated=False)


@dataclass(frozen=True, slots=True)
class Argument:
    """A checked argument with its place in the text."""

    value: Expression
    offset: int

    def fail(self, what: str, hint: str) -> NoReturn:
        """Refuse the argument."""
        raise KqlError(self.offset, what, hint)


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A relation with its columns that the query can see.

    The relation may have more columns than `columns`: those that `order` names, which are computed
    at the sort and carried along, since no engine keeps an order under another SELECT.
    """

    relation: Relation
    columns: Columns
    order: tuple[Ordering, ...] = ()
    promoted: tuple[Promoted, ...] = ()
    # Values of the dataset of a row by name: constants, or columns of the relation that are carried
    # along likewise.
    constants: Mapping[str, Expression] = field(default_factory=dict)

    def scope(self, context: Context, *, is_aggregated: bool = False) -> Scope:
        """Return the scope of an expression over this relation."""
        return Scope(self.columns, context, self.promoted, is_aggregated, self.constants)

    def select(
        self,
        values: Mapping[str, Expression],
        offset: int,
        *,
        is_named: bool = False,
        mentions: tuple[str, ...] = (),
    ) -> "CheckedQuery":
        """Return the relation with these columns, and with its order."""
        if len(values) > COLUMNS_MAX:
            hint = f"at most {COLUMNS_MAX:,} are allowed: project fewer"
            raise KqlError(offset, f"there would be {len(values):,} columns", hint)
        columns = {name: value.type for name, value in values.items()}
        check_names(columns, offset)
        carried = {o.column: self._column(o.column) for o in self.order}
        carried |= {v.name: v for v in self.constants.values() if isinstance(v, ColumnValue)}
        if taken := set(carried) & set(values):
            raise KqlError(offset, f"the name {min(taken)!r} is taken", "choose another name")
        every = {**values, **carried}
        all_columns = {name: value.type for name, value in every.items()}
        kept = tuple(p for p in self.promoted if _is_kept(p, values))
        relation = Select(self.relation, every, all_columns, is_named, mentions)
        return CheckedQuery(relation, columns, self.order, kept, self.constants)

    def everything(self) -> dict[str, Expression]:
        """Return every visible column as it is."""
        return {name: ColumnValue(name, type_) for name, type_ in self.columns.items()}

    def over(self, relation: Relation) -> "CheckedQuery":
        """Return the same columns and order over another relation."""
        return replace(self, relation=relation)

    def column(self, pattern: syntax.NamePattern) -> str:
        """Return a column that must be there."""
        if pattern.text not in self.columns:
            hint = suggestion(
                pattern.text, self.columns, f"there are {', '.join(self.columns)}"[:200]
            )
            raise UnknownColumn(pattern.offset, f"there is no column {quoted(pattern.text)}", hint)
        return pattern.text

    def _column(self, name: str) -> ColumnValue:
        return ColumnValue(name, self.relation.columns[name])


def _is_kept(promoted: Promoted, values: Mapping[str, Expression]) -> bool:
    """Return whether a promoted column and its attributes both pass through unchanged."""
    return all(
        isinstance(value := values.get(name), ColumnValue) and value.name == name
        for name in (promoted.name, promoted.base)
    )


def rows_of(table: Table) -> CheckedQuery:
    """Return all rows of a dataset."""
    constants = {name: Constant(value, "string") for name, value in table.constants.items()}
    scanned = Scan(table, table.columns)
    return CheckedQuery(scanned, table.columns, promoted=table.promoted, constants=constants)


def check_names(columns: Columns, offset: int) -> None:
    """Refuse names that differ in case alone, which are one name to SQL."""
    seen: dict[str, str] = {}
    for name in columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            what = f"columns {quoted(other)} and {quoted(name)} differ in case alone"
            raise KqlError(offset, what, "rename one of them")


def fresh(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken, with a number behind it if needed."""
    if name not in taken:
        return name
    return next(n for n in (f"{name}{i}" for i in range(1, COLUMNS_MAX + 2)) if n not in taken)
