"""Needs of a checked query: stored columns of each dataset, and the times that matter.

Relations are pruned of the columns that nothing asks for. Files of a dataset have the columns of
their signals only, so a query names no other ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from kql.dataset_table import TIME_COLUMN
from kql.pushdown.automatic import HiddenColumn
from kql.pushdown.bounds import ANY, Interval, Intervals, time_bounds
from kql.pushdown.needed_terms import needed_terms
from kql.scope import CheckedQuery
from kql.typed import (
    Aggregate,
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
)
from kql.walks import every, inputs, references, with_inputs

_NANOS_PER_MICRO = 1_000


def used_columns(relation: Relation, outputs: frozenset[str]) -> frozenset[str]:
    """Return the columns without which a projection fails, or lacks one of the outputs.

    A column that only passes through is used if it is one of them.
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
    kept, needed, below = _needs(relation, needed)
    pairs = zip(inputs(relation), below, strict=True)
    pruned = with_inputs(kept, [_pruned(each, names) for each, names in pairs])
    return replace(pruned, columns=_only(relation.columns, needed))


def _needs(relation: Relation, needed: Names) -> tuple[Relation, Names, list[Names]]:
    """Return what is left of a relation, its columns, and those that it needs of its inputs."""
    match relation:
        case Select():
            values = _only(relation.values, needed)
            return replace(relation, values=values), needed, [_references(values.values())]
        case Numbered() | Limit():
            nums = frozenset([relation.name] if isinstance(relation, Numbered) else [])
            return (relation, needed | nums, [(needed - nums) | {o.column for o in relation.order}])
        case Expand(name=name):
            return relation, needed | {name}, [(needed - {name}) | references(relation.array)]
        case Aggregate():
            values = _only(relation.values, needed)
            below = _references([*relation.by.values(), *values.values()])
            return replace(relation, values=values), frozenset([*relation.by, *values]), [below]
        case Distinct():
            # Without keys, rows differ by all of their columns.
            every = needed | set(relation.on) if relation.on else frozenset(relation.columns)
            return relation, every, [every]
        case Join():
            outputs = _only(relation.outputs, needed)
            sides = [
                _references(pair[index] for pair in relation.keys)
                | {column for of, column in outputs.values() if of == side}
                for index, side in enumerate(("left", "right"))
            ]
            return replace(relation, outputs=outputs), needed, sides
        case ConstantRows():
            return relation, frozenset(relation.columns), []
        case _:
            return relation, needed, [needed] * len(inputs(relation))


def _only(items: Mapping[str, Item], names: Names) -> dict[str, Item]:
    return {name: item for name, item in items.items() if name in names}


def _references(expressions: Iterable[Expression]) -> Names:
    return frozenset().union(*(references(expression) for expression in expressions))


_EVERYTHING: Intervals = {}


@dataclass(frozen=True, slots=True)
class DatasetRead:
    """The columns of a dataset that a query needs, as stored, and the times that matter to it."""

    name: str
    columns: tuple[str, ...]
    times: Interval = ANY
    # Columns of words that SQL names: computed from the others.
    words: tuple[str, ...] = ()
    # Hashes of terms of which every record that matters has one; none = not known.
    terms: tuple[int, ...] = ()
    # Columns that some files have and that are computed for the others, by no name of the dataset.
    hidden: tuple[HiddenColumn, ...] = ()
    # Texts that SQL names as columns, the same in all rows.
    constants: tuple[tuple[str, str], ...] = ()
    # The key to open the dataset with the others of its group; None = it is opened by its name.
    member: object = None

    @property
    def is_empty(self) -> bool:
        """True if no record can matter."""
        low, high = self.times
        return low is not None and high is not None and low > high

    def nanos(self) -> tuple[int | None, int | None]:
        """Return the times as nanoseconds, [start, end)."""
        low, high = self.times
        start = None if low is None else low * _NANOS_PER_MICRO
        # A column's microsecond stands for all of its nanoseconds.
        return start, None if high is None else (high + 1) * _NANOS_PER_MICRO


def reads_of(state: CheckedQuery, needed: Intervals = _EVERYTHING) -> tuple[DatasetRead, ...]:
    """Return a checked query's read of each dataset.

    `needed` are times of the query's own columns, outside of which none of its rows is asked for.
    """
    relation = pruned(state).relation
    bounds = time_bounds(relation, TIME_COLUMN, needed)
    terms = needed_terms(relation)
    columns: dict[str, dict[str, None]] = {}
    members: dict[str, object] = {}
    for scan in (each for each in every(relation) if isinstance(each, Scan)):
        stored = (name for shown in scan.columns for name in _stored(scan.table, shown))
        columns.setdefault(scan.table.name, {}).update(dict.fromkeys(stored))
        members[scan.table.name] = scan.table.member
    return tuple(
        DatasetRead(name, tuple(names), bounds[name], terms=terms[name], member=members[name])
        for name, names in columns.items()
    )


def _stored(table: Table, name: str) -> Iterable[str]:
    if name in table.computed:
        return sorted(references(table.computed[name]))
    return (table.stored.get(name, name),)
