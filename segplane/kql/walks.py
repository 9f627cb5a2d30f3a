"""Walks over typed trees."""

from segplane.kql.typed import (
    ColumnValue,
    Expression,
    Relation,
    RowFilter,
    inputs,
    parts,
)


def references(expression: Expression) -> set[str]:
    """Return the names of the columns that an expression reads."""
    if isinstance(expression, ColumnValue):
        return {expression.name}
    return set().union(*(references(part) for part in parts(expression)))


def levels(relation: Relation) -> int:
    """Return how many SELECTs are nested in one another."""
    below = max((levels(each) for each in inputs(relation)), default=0)
    return below if isinstance(relation, RowFilter) else below + 1


def written_size(expression: Expression, known: dict[int, tuple[Expression, int]]) -> int:
    """Return how many nodes an expression has when parts that it shares are written out.

    `known` has the sizes of what was walked before, by identity, and keeps it alive.
    """
    found = known.get(id(expression))
    if found is not None:
        return found[1]
    size = 1 + sum(written_size(part, known) for part in parts(expression))
    known[id(expression)] = (expression, size)
    return size
