"""Relations without the columns that nothing asks for.

Files of a dataset have the columns of their signals only, so a query names no other ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from segplane.kql.state import CheckedQuery
from segplane.kql.typed import (
    Aggregate,
    ConstantRows,
    Distinct,
    Expand,
    Expression,
    Join,
    Limit,
    Relation,
    RowFilter,
    Scan,
    Select,
    Union,
)
from segplane.kql.walks import references

Item = TypeVar("Item")
Names = frozenset[str]


def pruned(state: CheckedQuery) -> CheckedQuery:
    """Return a query that computes its visible columns and its order alone."""
    needed = frozenset([*state.columns, *(ordering.column for ordering in state.order)])
    return replace(state, relation=_pruned(state.relation, needed))


def _pruned(relation: Relation, needed: Names) -> Relation:
    """Return a relation with these columns; with its first one if none is asked for."""
    if isinstance(relation, RowFilter):
        # Its condition names a column; if nothing else is asked for, that one is enough.
        source = _pruned(relation.input, needed | references(relation.condition))
        return replace(relation, input=source, columns=source.columns)
    if not needed & set(relation.columns):
        needed = frozenset([next(iter(relation.columns))])
    columns = _only(relation.columns, needed)
    match relation:
        case Scan():
            return replace(relation, columns=columns)
        case Select():
            values = _only(relation.values, needed)
            below = _references(values.values())
            return replace(
                relation, input=_pruned(relation.input, below), values=values, columns=columns
            )
        case Limit():
            below = needed | {ordering.column for ordering in relation.order}
            return replace(relation, input=_pruned(relation.input, below), columns=columns)
        case Expand():
            below = (needed - {relation.name}) | references(relation.array)
            kept = _only(relation.columns, needed | {relation.name})
            return replace(relation, input=_pruned(relation.input, below), columns=kept)
        case Union():
            inputs = tuple(_pruned(each, needed) for each in relation.inputs)
            return replace(relation, inputs=inputs, columns=columns)
        case _:
            return _pruned_groups(relation, needed)


def _pruned_groups(relation: ConstantRows | Aggregate | Distinct | Join, needed: Names) -> Relation:
    columns = _only(relation.columns, needed)
    match relation:
        case Aggregate():
            values = _only(relation.values, needed)
            below = _references([*relation.by.values(), *values.values()])
            kept = _only(relation.columns, frozenset([*relation.by, *values]))
            return replace(
                relation, input=_pruned(relation.input, below), values=values, columns=kept
            )
        case Distinct():
            # Without keys, rows differ by all of their columns.
            below = needed | set(relation.on) if relation.on else frozenset(relation.columns)
            kept = _only(relation.columns, below)
            return replace(relation, input=_pruned(relation.input, below), columns=kept)
        case Join():
            outputs = _only(relation.outputs, needed)
            left = _references(a for a, _ in relation.keys)
            right = _references(b for _, b in relation.keys)
            left |= {column for side, column in outputs.values() if side == "left"}
            right |= {column for side, column in outputs.values() if side == "right"}
            return replace(
                relation,
                left=_pruned(relation.left, left),
                right=_pruned(relation.right, right),
                outputs=outputs,
                columns=columns,
            )
        case ConstantRows():
            return relation


def _only(items: Mapping[str, Item], names: Names) -> dict[str, Item]:
    return {name: item for name, item in items.items() if name in names}


def _references(expressions: Iterable[Expression]) -> Names:
    return frozenset().union(*(references(expression) for expression in expressions))
