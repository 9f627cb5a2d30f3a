"""Queries within expressions: the values of `in`, and the one of `toscalar`.

Each becomes a join of the operator's input, with a column that the expression then reads. So what
walks a query (rights, times, columns, every engine) sees a subquery as any other table.
"""

from dataclasses import dataclass, field, replace

from kql.errors import UnknownColumn, quoted
from kql.functions.arithmetic import convert, or_empty
from kql.functions.folding import folded_value
from kql.functions.scalars import argument
from kql.implied_names import implied_name
from kql.scope import Argument, CheckedQuery, Context, fresh
from kql.syntax import tree as syntax
from kql.typed import (
    Apply,
    Columns,
    ColumnValue,
    Constant,
    Distinct,
    Expression,
    Join,
    Limit,
    Relation,
    RowFilter,
    Select,
)
from kql.types import NUMBERS, KqlType

_AMONG = frozenset(["in", "!in", "in~", "!in~"])
# Their items are a number of rows.
_COUNTED = frozenset(["take", "top", "sample", "sample-distinct", "top-nested"])


def are_in(operator: syntax.Operator, state: CheckedQuery, context: Context) -> bool:
    """Return whether an operator's expressions hold a query."""
    if operator.name in _COUNTED:
        operator = replace(operator, items=())
    return any(_holds(e, state, context) for e in operator.expressions())


def split(
    operator: syntax.Operator, state: CheckedQuery, context: Context
) -> tuple[syntax.Operator | None, syntax.Operator]:
    """Return the conditions of a `where` that hold no query, and the others.

    The first keep their place right above the table, where they bound the times that are read.
    """
    condition = operator.items[0].expression
    if not (isinstance(condition, syntax.Infix) and condition.operator == "and"):
        return None, operator
    parts = (condition.left, *condition.right)
    plain = tuple(part for part in parts if not _holds(part, state, context))
    others = tuple(part for part in parts if _holds(part, state, context))
    if not plain:
        return None, operator
    return _where(operator, condition, plain), _where(operator, condition, others)


def joined(
    operator: syntax.Operator, state: CheckedQuery, context: Context
) -> tuple[syntax.Operator, CheckedQuery]:
    """Return an operator without queries, over an input that has their values as columns."""
    rewriter = _Rewriter(state, context)
    if operator.name in _COUNTED:
        # A number of rows is not a row's own value.
        rewritten = replace(operator, items=()).rewritten(rewriter.rewrite, rewriter.item)
        return replace(rewritten, items=operator.items), rewriter.state
    return operator.rewritten(rewriter.rewrite, rewriter.item), rewriter.state


def _where(
    operator: syntax.Operator, condition: syntax.Infix, parts: tuple[syntax.Expression, ...]
) -> syntax.Operator:
    first, *others = parts
    whole = replace(condition, left=first, right=tuple(others)) if others else first
    return replace(operator, items=(syntax.Item(whole),))


def _holds(expression: syntax.Expression, state: CheckedQuery, context: Context) -> bool:
    return _has_query(expression, state.columns, context, _lets(context))


def _lets(context: Context) -> frozenset[str]:
    """Return the names of let whose values hold a query; each sees those before it."""
    names: frozenset[str] = frozenset()
    for name, expression in context.names.scalars.items():
        if _has_query(expression, {}, context, names):
            names |= {name}
    return names


def _has_query(
    expression: syntax.Expression, columns: Columns, context: Context, lets: frozenset[str]
) -> bool:
    match expression:
        case syntax.Subquery():
            return True
        case syntax.Name(name=name):
            return name in lets and name not in columns
        case syntax.Infix() if _table(expression, columns, context) is not None:
            return True
    return any(_has_query(part, columns, context, lets) for part in syntax.parts(expression))


def _table(infix: syntax.Infix, columns: Columns, context: Context) -> syntax.QueryPipeline | None:
    """Return the table of an `in`: a query, or the name of a table, not of a column or value."""
    if infix.operator not in _AMONG or len(infix.right) != 1:
        return None
    right = infix.right[0]
    if isinstance(right, syntax.Subquery):
        return right.pipeline
    if not isinstance(right, syntax.Name) or right.name in {**columns, **context.names.scalars}:
        return None
    if right.name in context.names.tables or right.name in context.tables:
        return syntax.QueryPipeline(right.offset, right)
    return None


@dataclass(slots=True)
class _Rewriter:
    """Rewrites the expressions of one operator; `state` gains a column for each query in them."""

    state: CheckedQuery
    context: Context
    # The same `let` in several places is computed once.
    _scalars: dict[int, syntax.Call] = field(default_factory=dict)
    _lets: dict[str, syntax.Expression] = field(default_factory=dict)

    def item(self, item: syntax.Item) -> syntax.Item:
        """Return an item without queries, of the same name."""
        name = item.name or implied_name(item.expression) or None
        return syntax.Item(self.rewrite(item.expression), name)

    def rewrite(self, expression: syntax.Expression) -> syntax.Expression:
        """Return an expression that reads columns in place of queries."""
        if not _holds(expression, self.state, self.context):
            return expression
        match expression:
            case syntax.Name(name=name):
                return self._let(name, self.context.names)
            case syntax.Call(name="toscalar", arguments=(syntax.Subquery() as query,)):
                return self._scalar(query)
            case syntax.Infix():
                table = _table(expression, self.state.columns, self.context)
                if table is not None:
                    return self._among(expression, table)
        return syntax.rebuilt(expression, self.rewrite)

    def _let(self, name: str, names: syntax.Names) -> syntax.Expression:
        """Write out a value of `let` that holds a query: it sees those before it, no column."""
        if name in self._lets:
            return self._lets[name]
        earlier = names.scalars_before(name)

        def written(part: syntax.Expression) -> syntax.Expression:
            match part:
                case syntax.Name() if part.name in earlier.scalars:
                    return self._let(part.name, earlier)
                case syntax.Name():
                    what = f"there is no value {quoted(part.name)}"
                    raise UnknownColumn(part.offset, what, "a let sees those before it only")
                case syntax.Call(name="toscalar", arguments=(syntax.Subquery() as query,)):
                    return self._scalar(query)
                case _:
                    return syntax.rebuilt(part, written)

        self._lets[name] = written(names.scalars[name])
        return self._lets[name]

    def _scalar(self, query: syntax.Subquery) -> syntax.Call:
        """Join the first value of the first row; null if there is no row."""
        scalar = self._scalars.get(id(query))
        if scalar is not None:
            return scalar
        inner = self.context.pipeline(query.pipeline)
        first = next(iter(inner.columns))
        row = Limit(inner.relation, 1, inner.order, inner.relation.columns)
        value = Select(row, {_KEY: _column(inner, first)}, {_KEY: inner.columns[first]})
        name = self._join(value, (), _KEY, query.offset)
        column = syntax.Name(query.offset, name)
        self._scalars[id(query)] = read = syntax.Call(query.offset, "toscalar", (column,))
        return read

    def _among(self, infix: syntax.Infix, table: syntax.QueryPipeline) -> syntax.Call:
        """Join whether a value is among those of a table's first column; null is among none."""
        left = argument(self.rewrite(infix.left), self.state.scope(self.context))
        inner = self.context.pipeline(table)
        value, key = _comparable(left, _column(inner, next(iter(inner.columns))), infix)
        keys: Relation = Select(inner.relation, {_KEY: key}, {_KEY: key.type})
        if key.type == "real":
            # NaN equals nothing in KQL, and itself in SQL.
            key_column = ColumnValue(_KEY, key.type)
            keys = RowFilter(keys, Apply("eq_real", (key_column, key_column), "bool"), keys.columns)
        each = Distinct(keys, (), keys.columns)
        hit: dict[str, Expression] = {
            _KEY: ColumnValue(_KEY, key.type),
            _HIT: Constant(value=True, type="bool"),
        }
        hits = Select(each, hit, {_KEY: key.type, _HIT: "bool"})
        on = ((value, ColumnValue(_KEY, key.type)),)
        name = self._join(hits, on, _HIT, infix.offset)
        test = "isnull" if infix.operator.startswith("!") else "isnotnull"
        return syntax.Call(infix.offset, test, (syntax.Name(infix.offset, name),))

    def _join(
        self,
        right: Relation,
        keys: tuple[tuple[Expression, Expression], ...],
        column: str,
        offset: int,
    ) -> str:
        """Join a relation that has at most one row for each of ours; returns its column's name."""
        self.context.budget.count_subquery(offset)
        state = self.state
        name = fresh(_NAME, state.relation.columns)
        type_ = right.columns[column]
        outputs = {left_column: ("left", left_column) for left_column in state.relation.columns}
        relation = Join(
            state.relation,
            right,
            "leftouter",
            keys,
            {**outputs, name: ("right", column)},  # type: ignore[dict-item]
            {**state.relation.columns, name: type_},
        )
        self.state = replace(state, relation=relation, columns={**state.columns, name: type_})
        return name


_NAME, _KEY, _HIT = "$subquery", "$key", "$hit"


def _column(state: CheckedQuery, name: str) -> ColumnValue:
    return ColumnValue(name, state.columns[name])


def _comparable(
    left: Argument, right: ColumnValue, infix: syntax.Infix
) -> tuple[Expression, Expression]:
    """Return both sides of an `in` with one type."""
    offset, operator = infix.offset, infix.operator
    sides = [left.value, right]
    types: list[KqlType] = [side.type for side in sides]
    if types[0] == types[1]:
        type_: KqlType = "string" if types[0] == "dynamic" else types[0]
    elif "dynamic" in types:
        type_ = types[0] if types[1] == "dynamic" else types[1]
    elif set(types) <= set(NUMBERS):
        type_ = types[max(0, 1, key=lambda n: NUMBERS.index(types[n]))]
    else:
        what = f"{operator} compares {types[0]} with the table's {quoted(right.name)}, {types[1]}"
        left.fail(what, "convert one of them first")
    value, key = (convert(side, type_, offset, operator) for side in sides)
    if type_ == "string":
        value, key = or_empty(value), or_empty(key)
    if operator.endswith("~"):
        if type_ != "string":
            left.fail(f"{operator} compares texts, not {type_}", "use in")
        value, key = (folded_value(s, None, offset, operator) for s in (value, key))
    return value, key
