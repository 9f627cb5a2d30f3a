"""Walks over typed trees."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kql.typed import (
    ColumnValue,
    ConstantRows,
    Expression,
    Join,
    Relation,
    RowFilter,
    Scan,
    Union,
    parts,
)


def references(expression: Expression) -> set[str]:
    """Return the names of the columns that an expression reads."""
    if isinstance(expression, ColumnValue):
        return {expression.name}
    return set().union(*(references(part) for part in parts(expression)))


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """Return the inputs of a relation."""
    match relation:
        case Scan() | ConstantRows():
            return ()
        case Union():
            return relation.inputs
        case Join():
            return (relation.left, relation.right)
        case _:
            return (relation.input,)


def every(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all below it, the lowest first."""
    for below in inputs(relation):
        yield from every(below)
    yield relation


def with_inputs(relation: Relation, below: Sequence[Relation]) -> Relation:
    """Return a relation over other inputs."""
    match relation:
        case Scan() | ConstantRows():
            return relation
        case Union():
            return replace(relation, inputs=tuple(below))
        case Join():
            return replace(relation, left=below[0], right=below[1])
        case _:
            return replace(relation, input=below[0])


def levels(relation: Relation) -> int:
    """Return how many SELECTs are nested in one another."""
    below = max((levels(each) for each in inputs(relation)), default=0)
    return below if isinstance(relation, RowFilter) else below + 1


def written_size(expression: Expression, sizes: dict[int, tuple[Expression, int]]) -> int:
    """Return how many nodes an expression has when parts that it shares are written out.

    `sizes` has the sizes of expressions walked before, by identity, and keeps them alive.
    """
    known_size = sizes.get(id(expression))
    if known_size is not None:
        return known_size[1]
    size = 1 + sum(written_size(part, sizes) for part in parts(expression))
    sizes[id(expression)] = (expression, size)
    return size
