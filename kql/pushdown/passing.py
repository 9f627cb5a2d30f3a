"""Passes what a query needs of its rows down to the reads of its tables.

Rows that a condition above skips need not be read below, as far as no other row depends on
them. Each implementation of `Needed` says which rows those are; this module says where it holds.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, Self, TypeVar

from kql.typed import (
    Aggregate,
    Columns,
    ColumnValue,
    ConstantRows,
    Distinct,
    Expand,
    Expression,
    Join,
    Limit,
    Numbered,
    Relation,
    RowFilter,
    Scan,
    Select,
    Table,
    Union,
)


class Needed(Protocol):
    """Conditions on the columns of a relation: rows without them do not matter."""

    def filtered(self, condition: Expression) -> Self:
        """Add those that rows have for which a condition is true."""
        ...

    def renamed(self, values: Mapping[str, Expression]) -> Self:
        """Return those on the columns from which these values are computed, and no others."""
        ...


N = TypeVar("N", bound=Needed)


def reads(relation: Relation, needed: N) -> Iterator[tuple[Table, N]]:
    """Yield each table that is read, with what its rows must meet to affect the result."""
    if isinstance(relation, Scan):
        yield relation.table, needed
        return
    for below, passed_on in passed(relation, needed):
        yield from reads(below, passed_on)


def passed(relation: Relation, needed: N) -> list[tuple[Relation, N]]:
    """Return the inputs of a relation, with what rows of theirs must meet to affect the result."""
    match relation:
        case Union():
            return [(each, needed) for each in relation.inputs]
        case Join():
            return _joined(relation, needed)
        case Scan() | ConstantRows():
            return []
        case _:
            return [(relation.input, _below(relation, needed))]


def _below(
    relation: RowFilter | Select | Numbered | Aggregate | Distinct | Limit | Expand, needed: N
) -> N:
    match relation:
        case RowFilter():
            return needed.filtered(relation.condition)
        case Numbered() | Select(is_windowed=True):
            # Rows that do not matter by themselves count as well.
            return needed.renamed({})
        case Select():
            return needed.renamed(relation.values)
        case Aggregate():
            return needed.renamed(relation.by)
        case Distinct(on=on):
            # With keys, some row of each is kept: skipping rows would change which.
            return needed.renamed(_same(relation.columns, lambda name: not on or name in on))
        case Limit():
            return needed if relation.count is None else needed.renamed({})
        case Expand():
            return needed.renamed(_same(relation.columns, lambda name: name != relation.name))


def _same(columns: Columns, is_kept: Callable[[str], bool]) -> dict[str, Expression]:
    return {name: ColumnValue(name, type_) for name, type_ in columns.items() if is_kept(name)}


def _joined(join: Join, needed: N) -> list[tuple[Relation, N]]:
    """Pass them to the sides whose rows stand for themselves: not to one filled with nulls."""
    sides: dict[str, dict[str, Expression]] = {"left": {}, "right": {}}
    for name, (side, column) in join.outputs.items():
        sides[side][name] = ColumnValue(column, join.columns[name])
    left = {} if join.kind in ("rightouter", "fullouter") else sides["left"]
    right = sides["right"] if join.kind in ("inner", "rightouter") else {}
    return [(join.left, needed.renamed(left)), (join.right, needed.renamed(right))]
