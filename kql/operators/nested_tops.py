"""Checker of top-nested: the first values of a column, and of each the first of the next one.

Written from operators: each level aggregates by all columns so far, is joined with the values that
the level before kept, and numbers its rows within each of those.
"""

from dataclasses import dataclass, replace

from kql.errors import KqlError, quoted
from kql.functions.arithmetic import or_empty
from kql.functions.scalars import argument
from kql.implied_names import implied_name
from kql.operators import columns, rowsets
from kql.operators.combining import Side
from kql.scope import CheckedQuery, Context
from kql.syntax import tree as syntax
from kql.syntax.tree import Call, Expression, Infix, Item, Key, Literal, Name
from kql.typed import ColumnValue, Join
from kql.typed import Expression as TypedExpression
from kql.types import KqlType


@dataclass(frozen=True, slots=True)
class _Level:
    """The column, the aggregate and its name, and the most values; None = all."""

    column: str
    aggregate: Item
    count: Expression
    is_descending: bool

    @property
    def has_count(self) -> bool:
        """Whether only some values are kept."""
        return not (isinstance(self.count, Literal) and self.count.value is None)


def top_nested(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return a row for each value of the last column that is kept."""
    levels, state = _levels(operator, replace(state, order=()), context)
    kept: CheckedQuery | None = None
    for index, level in enumerate(levels):
        by = tuple(Item(Name(operator.offset, each.column)) for each in levels[: index + 1])
        summarized = replace(operator, name="summarize", items=(level.aggregate,), by=by, keys=())
        grouped = columns.summarize(summarized, state, context)
        parents = [each.column for each in levels[:index]]
        joined = grouped if kept is None else _joined(kept, grouped, parents, operator, context)
        kept = _first(joined, level, parents, operator, context)
    assert kept is not None
    shown = [name for each in levels for name in (each.column, str(each.aggregate.name))]
    every = kept.everything()
    return kept.select({n: every[n] for n in shown}, operator.offset, is_named=True)


def _levels(
    operator: syntax.Operator, state: CheckedQuery, context: Context
) -> tuple[list[_Level], CheckedQuery]:
    """Return the levels, over a table that has their columns."""
    levels: list[_Level] = []
    counts, values, aggregates = (operator.items[start::3] for start in range(3))
    names: list[str] = []
    for value in values:
        name = value.name or implied_name(value.expression) or f"Column{len(names) + 1}"
        if name in names:
            what = f"column {quoted(name)} is named twice"
            raise KqlError(value.expression.offset, what, "rename one of them")
        names.append(name)
    items = tuple(Item(v.expression, n) for v, n in zip(values, names, strict=True))
    made = [
        item for item in items if item.expression != Name(item.expression.offset, item.name or "")
    ]
    if made:
        state = columns.extend(replace(operator, items=tuple(made), keys=()), state, context)
    for name, count, aggregate, key in zip(names, counts, aggregates, operator.keys, strict=True):
        aggregate_item = Item(aggregate.expression, aggregate.name or f"aggregated_{name}")
        levels.append(_Level(name, aggregate_item, count.expression, key.is_descending))
    return levels, state


def _joined(
    kept: CheckedQuery,
    grouped: CheckedQuery,
    parents: list[str],
    operator: syntax.Operator,
    context: Context,
) -> CheckedQuery:
    """Return the groups whose earlier values were kept, with the aggregates of those."""
    outputs: dict[str, tuple[Side, str]] = {n: ("left", n) for n in kept.columns}
    outputs.update({n: ("right", n) for n in grouped.columns if n not in parents})
    types: dict[str, KqlType] = {**grouped.columns, **kept.columns}
    keys = tuple(
        (_key(n, kept, operator, context), _key(n, grouped, operator, context)) for n in parents
    )
    relation = Join(
        kept.relation, grouped.relation, "inner", keys, outputs, {n: types[n] for n in outputs}
    )
    return CheckedQuery(relation, {n: types[n] for n in outputs})


def _key(
    name: str, state: CheckedQuery, operator: syntax.Operator, context: Context
) -> TypedExpression:
    """Return a value as a text that null has as well: groups of null are joined too."""
    if state.columns[name] == "string":
        return or_empty(ColumnValue(name, "string"))
    offset, column = operator.offset, Name(operator.offset, name)
    text = Call(
        offset, "strcat", (Literal(offset, "=", "string"), Call(offset, "tostring", (column,)))
    )
    empty = Literal(offset, "", "string")
    written = Call(offset, "iff", (Call(offset, "isnull", (column,)), empty, text))
    return argument(written, state.scope(context)).value


def _first(
    state: CheckedQuery,
    level: _Level,
    parents: list[str],
    operator: syntax.Operator,
    context: Context,
) -> CheckedQuery:
    """Keep the first rows of each earlier value."""
    if not level.has_count:
        return state
    offset = operator.offset
    key = Key(Name(offset, str(level.aggregate.name)), level.is_descending)
    keys = (*(Key(Name(offset, n), is_descending=False) for n in parents), key)
    ordered = rowsets.sort(replace(operator, name="sort", items=(), keys=keys), state, context)
    if not parents:
        counted = replace(operator, name="take", items=(Item(level.count),), keys=())
        return replace(rowsets.take(counted, ordered, context), order=())
    begins: Expression | None = None
    for name in parents:
        own_name = Name(offset, name)
        differs = Infix(offset, "!=", Call(offset, "prev", (own_name,)), (own_name,))
        begins = differs if begins is None else Infix(offset, "or", begins, (differs,))
    assert begins is not None
    number = Call(offset, "row_number", (Literal(offset, 1, "long"), begins))
    few = Infix(offset, "<=", number, (level.count,))
    where = replace(operator, name="where", items=(Item(few),), keys=())
    few_rows = context.pipeline(syntax.QueryPipeline(offset, None, (where,)), ordered)
    return replace(few_rows, order=())
