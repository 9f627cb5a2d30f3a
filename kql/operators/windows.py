"""Functions that look at other rows: prev, next, row_number, row_cumsum, row_rank_dense.

The rows have an order: that of a sort, or the one that `serialize` gave them. It becomes a number,
so that rows with equal keys have the same neighbours wherever a query asks. Each call becomes a
column of the operator's input.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kql.catalog.table import FUNCTIONS
from kql.errors import KqlError
from kql.functions.arguments import taken
from kql.functions.arithmetic import convert, or_empty
from kql.functions.scalars import argument, condition
from kql.operators import columns
from kql.scope import Argument, CheckedQuery, Context, fresh
from kql.syntax import tree as syntax
from kql.typed import (
    Apply,
    ColumnValue,
    Constant,
    Expression,
    Numbered,
    Ordering,
    Relation,
    RowFilter,
    Select,
)
from kql.types import KqlType, fits

WINDOWS = frozenset(name for name, f in FUNCTIONS.items() if f.rule == "window")
OFFSET_MAX = 1_000_000
_SUMMED: tuple[KqlType, ...] = ("int", "long", "real", "timespan")
_ROW, _NAME, _PART = "$row", "$window", "$part"


def are_in(operator: syntax.Operator) -> bool:
    """Return whether an operator's expressions call a function that looks at other rows."""
    return any(map(_calls, operator.expressions()))


def computed(
    operator: syntax.Operator, state: CheckedQuery, context: Context
) -> tuple[syntax.Operator, CheckedQuery]:
    """Return an operator without such calls, over an input that has their values as columns."""
    writer = _Windows(state, context)
    rewritten = operator.rewritten(
        writer.rewrite, lambda item: replace(item, expression=writer.rewrite(item.expression))
    )
    return rewritten, writer.finished()


def serialize(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Give rows a number in their order, and add columns."""
    state = numbered(state)
    if operator.items:
        operator, with_values = computed(operator, state, context)
        hidden = set(with_values.columns) - set(state.columns)
        state = columns.extend(operator, with_values, context)
        kept = {n: t for n, t in state.columns.items() if n not in hidden}
        state = replace(state, columns=kept)
    return state


def numbered(state: CheckedQuery) -> CheckedQuery:
    """Return rows that are ordered by a number alone, which no two share."""
    if _is_numbered(state):
        return state
    name = fresh(_ROW, state.relation.columns)
    every: dict[str, KqlType] = {**state.relation.columns, name: "long"}
    relation = Numbered(state.relation, name, state.order, every)
    order = (Ordering(name, is_descending=False, nulls_first=False),)
    return replace(state, relation=relation, order=order)


def _is_numbered(state: CheckedQuery) -> bool:
    """Return whether the order is a number that every row still has by itself."""
    relation: Relation = state.relation
    while isinstance(relation, RowFilter | Select):
        relation = relation.input
    names = [ordering.column for ordering in state.order]
    return isinstance(relation, Numbered) and names == [relation.name]


def _calls(expression: syntax.Expression) -> bool:
    if isinstance(expression, syntax.Call) and expression.name in WINDOWS:
        return True
    return any(map(_calls, syntax.parts(expression)))


@dataclass(slots=True)
class _Windows:
    """Rewrites the expressions of one operator; `state` gains a column for each call."""

    state: CheckedQuery
    context: Context
    # Columns that go into one SELECT.
    _pending: dict[str, Expression] = field(default_factory=dict)

    def rewrite(self, expression: syntax.Expression) -> syntax.Expression:
        """Return an expression that reads columns in place of calls."""
        if not _calls(expression):
            return expression
        if not (isinstance(expression, syntax.Call) and expression.name in WINDOWS):
            return syntax.rebuilt(expression, self.rewrite)
        if not self.state.order:
            hint = "write sort by ..., or serialize, before it"
            raise KqlError(expression.offset, f"{expression.name} needs rows in an order", hint)
        self.state = numbered(self.state)
        inner = tuple(self.rewrite(a) for a in expression.arguments)
        if any(_calls(a) for a in expression.arguments):
            self.state = self.finished()
        name = self._column(replace(expression, arguments=inner))
        # A call is in brackets, so that its name is only known there.
        return syntax.Call(expression.offset, "toscalar", (syntax.Name(expression.offset, name),))

    def finished(self) -> CheckedQuery:
        """Return the state with all columns that were asked for."""
        if not self._pending:
            return self.state
        state, pending = self.state, self._pending
        self._pending = {}
        columns = {n: ColumnValue(n, t) for n, t in state.relation.columns.items()}
        types = {name: value.type for name, value in pending.items()}
        relation = Select(
            state.relation,
            {**columns, **pending},
            {**state.relation.columns, **types},
            is_windowed=True,
        )
        self.state = replace(state, relation=relation, columns={**state.columns, **types})
        return self.state

    def _column(self, call: syntax.Call) -> str:
        arguments = [argument(a, self.state.scope(self.context)) for a in call.arguments]
        arguments = taken(FUNCTIONS[call.name], arguments, call.offset)
        value = _VALUES[call.name](self, call, arguments)
        return self._add(_NAME, value)

    def _add(self, name: str, value: Expression) -> str:
        name = fresh(name, {**self.state.relation.columns, **self._pending})
        self._pending[name] = value
        return name

    @property
    def _row(self) -> ColumnValue:
        return ColumnValue(self.state.order[0].column, "long")

    def neighbour(self, call: syntax.Call, arguments: list[Argument]) -> Expression:
        """Return a value of an earlier or later row."""
        value, *others = arguments
        of_value = or_empty(value.value) if value.value.type == "string" else value.value
        given = _constant(others[0], 0, OFFSET_MAX) if others else Constant(1, "long")
        # Spark takes no wider number.
        distance = Constant(given.value, "int")
        if len(others) < 2:
            parts: tuple[Expression, ...] = (of_value, self._row, distance)
            neighbour = Apply(call.name, parts, of_value.type, call.offset, call.name)
            return or_empty(neighbour) if neighbour.type == "string" else neighbour
        otherwise = convert(others[1].value, of_value.type, others[1].offset, call.name)
        parts = (of_value, self._row, distance, otherwise)
        return Apply(f"{call.name}_or", parts, of_value.type, call.offset, call.name)

    def number(self, call: syntax.Call, arguments: list[Argument]) -> Expression:
        """Return the number of the row, which may begin again."""
        start = (
            _constant(arguments[0], -OFFSET_MAX, OFFSET_MAX) if arguments else Constant(1, "long")
        )
        assert isinstance(start.value, int)
        first = Constant(start.value - 1, "long")
        if len(arguments) < 2:
            return Apply("row_number", (self._row, first), "long", call.offset, call.name)
        part = self._part(call.arguments[1])
        parts = (self._row, first, part)
        return Apply("row_number_part", parts, "long", call.offset, call.name)

    def sum(self, call: syntax.Call, arguments: list[Argument]) -> Expression:
        """Return the sum up to the row, which may begin again."""
        term = arguments[0]
        type_ = term.value.type
        if type_ not in _SUMMED:
            term.fail(f"{call.name} adds numbers or timespans, this is {type_}", "convert it")
        name = f"{call.name}_{type_}"
        if len(arguments) < 2:
            return Apply(name, (term.value, self._row), type_, call.offset, call.name)
        part = self._part(call.arguments[1])
        return Apply(f"{name}_part", (term.value, self._row, part), type_, call.offset, call.name)

    def rank(self, call: syntax.Call, arguments: list[Argument]) -> Expression:
        """Return how many different values there are up to the row, which may begin again."""
        value = arguments[0].value
        value = or_empty(value) if value.type == "string" else value
        changed = Apply("is_changed", (value, self._row), "bool", call.offset, call.name)
        name = self._add(_PART, changed)
        self.finished()
        parts = (ColumnValue(name, "bool"), self._row)
        return Apply("parts", parts, "long", call.offset, call.name)

    def _part(self, restart: syntax.Expression) -> ColumnValue:
        """Number the parts that a condition begins."""
        begins = condition(restart, self.state.scope(self.context))
        name = self._add(_PART, Apply("parts", (begins, self._row), "long", restart.offset))
        self.finished()
        return ColumnValue(name, "long")


_VALUES: Mapping[str, Callable[[_Windows, syntax.Call, list[Argument]], Expression]] = {
    "prev": _Windows.neighbour,
    "next": _Windows.neighbour,
    "row_number": _Windows.number,
    "row_cumsum": _Windows.sum,
    "row_rank_dense": _Windows.rank,
}
assert set(_VALUES) == WINDOWS


def _constant(given: Argument, least: int, most: int) -> Constant:
    value = given.value.value if isinstance(given.value, Constant) else None
    if not isinstance(value, int) or isinstance(value, bool) or not fits(given.value.type, "long"):
        given.fail("a whole number is needed that is known beforehand", "write a constant")
    if not least <= value <= most:
        given.fail(f"{value:,} is too far", f"write {least:,} to {most:,}")
    return Constant(value, "long")
