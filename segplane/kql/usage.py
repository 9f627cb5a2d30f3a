"""The columns of a table that a projection depends on."""

from segplane.kql.typed import ColumnValue, Expand, Expression, Relation, RowFilter, Scan, Select
from segplane.kql.walks import references


def used_columns(relation: Relation, outputs: frozenset[str]) -> frozenset[str]:
    """Return the columns without which a projection fails, or lacks one of the outputs.

    A column that only passes through is used where it is one of them.
    """
    match relation:
        case Scan():
            return outputs & set(relation.columns)
        case RowFilter():
            return used_columns(relation.input, outputs | references(relation.condition))
        case Expand():
            below = (outputs - {relation.name}) | references(relation.array)
            return used_columns(relation.input, below)
        case Select():
            below = frozenset(relation.mentions)
            for name, value in relation.values.items():
                if name in outputs or relation.is_named or not _passes(name, value):
                    below |= references(value)
            return used_columns(relation.input, below)
        case _:
            raise AssertionError(f"a projection has no {type(relation).__name__}")


def _passes(name: str, value: Expression) -> bool:
    return isinstance(value, ColumnValue) and value.name == name
