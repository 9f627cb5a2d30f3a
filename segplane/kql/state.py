"""A relation while its pipeline is checked: visible columns, hidden ones, the order."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from segplane.kql import syntax
from segplane.kql.errors import KqlError, UnknownColumn, quoted, suggestion
from segplane.kql.scope import CheckBudget, Scope
from segplane.kql.typed import (
    Columns,
    ColumnValue,
    Expression,
    Ordering,
    Promoted,
    Relation,
    Select,
    Table,
)

COLUMNS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Context:
    """Tables, names of let, the time and the limits of a whole query."""

    # A view is the relation that it stands for.
    tables: Mapping[str, "Table | CheckedQuery"]
    now: int | None
    scalars: Mapping[str, syntax.Expression] = field(default_factory=dict)
    pipelines: Mapping[str, syntax.QueryPipeline] = field(default_factory=dict)
    budget: CheckBudget = field(default_factory=CheckBudget)

    def scope(self, columns: Columns) -> Scope:
        """Return what an expression over these columns may refer to."""
        return Scope(columns, self.scalars, self.now, budget=self.budget)


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A relation with what the query can see of it.

    The relation may have more columns than `columns`: those that `order` names, which are computed
    where the query sorts and carried along, since no engine keeps an order under another SELECT.
    """

    relation: Relation
    columns: Columns
    order: tuple[Ordering, ...] = ()
    promoted: tuple[Promoted, ...] = ()

    def scope(self, context: Context, *, is_aggregated: bool = False) -> Scope:
        """Return what an expression over this relation may refer to."""
        scope = context.scope(self.columns)
        return replace(scope, promoted=self.promoted, is_aggregated=is_aggregated)

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
        taken = {ordering.column for ordering in self.order} & set(values)
        if taken:
            raise KqlError(offset, f"the name {min(taken)!r} is taken", "choose another name")
        carried = {o.column: self._column(o.column) for o in self.order}
        every = {**values, **carried}
        all_columns = {name: value.type for name, value in every.items()}
        kept = tuple(p for p in self.promoted if _is_kept(p, values))
        relation = Select(self.relation, every, all_columns, is_named, mentions)
        return CheckedQuery(relation, columns, self.order, kept)

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
    """Tell whether a promoted column and its attributes both pass through unchanged."""
    return all(
        isinstance(value := values.get(name), ColumnValue) and value.name == name
        for name in (promoted.name, promoted.base)
    )


def check_names(columns: Columns, offset: int) -> None:
    """Refuse names that differ in case alone, which are one name to SQL."""
    seen: dict[str, str] = {}
    for name in columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            what = f"columns {quoted(other)} and {quoted(name)} differ in case alone"
            raise KqlError(offset, what, "rename one of them")


def fresh(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken, with a number behind it where needed."""
    if name not in taken:
        return name
    return next(n for n in (f"{name}{i}" for i in range(1, COLUMNS_MAX + 2)) if n not in taken)
