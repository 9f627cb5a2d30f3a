"""The typed tree: the meaning of a checked query, independent of any engine."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kql.types import KqlType, Value

Columns = Mapping[str, KqlType]
# How a known argument is written down for an engine.
Role = Literal["value", "regex", "rewrite"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is known before the query runs."""

    value: Value
    type: KqlType
    role: Role = "value"


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A column of the input."""

    name: str
    type: KqlType


@dataclass(frozen=True, slots=True)
class Member:
    """The value at a path of a dynamic value; at `flat` if there is none and that is given."""

    base: "Expression"
    keys: tuple[str | int, ...]
    flat: tuple[str | int, ...] = ()
    type: KqlType = "dynamic"


@dataclass(frozen=True, slots=True)
class Apply:
    """An SQL pattern applied to arguments; `source` is its name in the query; it seeks `terms`."""

    template: str
    arguments: tuple["Expression", ...]
    type: KqlType
    offset: int = 0
    source: str = ""
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Logic:
    """Conditions joined by `and` or by `or`."""

    operator: Literal["and", "or"]
    parts: tuple["Expression", ...]
    type: KqlType = "bool"


@dataclass(frozen=True, slots=True)
class Not:
    """A condition turned; null stays null."""

    operand: "Expression"
    type: KqlType = "bool"


@dataclass(frozen=True, slots=True)
class Among:
    """A value that is one of several."""

    value: "Expression"
    options: tuple["Expression", ...]
    type: KqlType = "bool"


@dataclass(frozen=True, slots=True)
class Choice:
    """The value that belongs to the first condition that is true."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"
    type: KqlType


Expression = Constant | ColumnValue | Member | Apply | Logic | Not | Among | Choice


@dataclass(frozen=True, slots=True)
class Promoted:
    """A column that repeats one attribute as a type; `base` is the column of the attributes."""

    name: str
    type: KqlType
    base: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset or a view as a query sees it.

    `stored` names the stored column of those that have another one; `lists` are stored as lists.
    `promoted` are only those that every file of the table has, and that are null only if the
    attribute is not a value of their type. `automatic` ones are hidden, and some files lack them.
    """

    name: str
    columns: Columns
    stored: Mapping[str, str]
    lists: frozenset[str] = frozenset()
    promoted: tuple[Promoted, ...] = ()
    # Columns that no file has to have: expressions over the stored ones.
    computed: Mapping[str, Expression] = field(default_factory=dict)
    automatic: tuple[Promoted, ...] = ()
    # Columns that no file has and `*` does not show: a text each, the same in all rows.
    constants: Mapping[str, str] = field(default_factory=dict)
    # The key to open the dataset with the others of its group; None = it is opened by its name.
    member: object = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """A column to order by."""

    column: str
    is_descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a table."""

    table: Table
    columns: Columns


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows of constants, as print and getschema give them."""

    rows: tuple[tuple[Expression, ...], ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows for which a condition is true."""

    input: "Relation"
    condition: Expression
    columns: Columns


@dataclass(frozen=True, slots=True)
class Select:
    """An expression for each column; `is_named` if the query names every column it keeps.

    `mentions` are columns of the input that it names without keeping or changing them.
    """

    input: "Relation"
    values: Mapping[str, Expression]
    columns: Columns
    is_named: bool = False
    mentions: tuple[str, ...] = ()
    # Its values are computed from other rows too: skipping rows below changes them.
    is_windowed: bool = False


@dataclass(frozen=True, slots=True)
class Numbered:
    """All rows with their number in an order, from 1; without one, in any order that then stays."""

    input: "Relation"
    name: str
    order: tuple[Ordering, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A row for each group; without `by`, one row."""

    input: "Relation"
    by: Mapping[str, Expression]
    values: Mapping[str, Expression]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each row once; with `on`, some row for each value of those columns."""

    input: "Relation"
    on: tuple[str, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Limit:
    """The first rows of an order, or any; without a count, all of them in that order."""

    input: "Relation"
    count: int | None
    order: tuple[Ordering, ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Expand:
    """A row for each element of an array."""

    input: "Relation"
    name: str
    array: Expression
    columns: Columns
    offset: int


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all inputs, which have the same columns."""

    inputs: tuple["Relation", ...]
    columns: Columns


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows; `outputs` names the side and the column of each result."""

    left: "Relation"
    right: "Relation"
    kind: str
    keys: tuple[tuple[Expression, Expression], ...]
    outputs: Mapping[str, tuple[Literal["left", "right"], str]]
    columns: Columns


Relation = (
    Scan | ConstantRows | RowFilter | Select | Numbered | Aggregate | Distinct | Limit | Expand
    | Union | Join
)  # fmt: skip


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions directly below one."""
    match expression:
        case Member():
            yield expression.base
        case Apply():
            yield from expression.arguments
        case Logic():
            yield from expression.parts
        case Not():
            yield expression.operand
        case Among():
            yield expression.value
            yield from expression.options
        case Choice():
            for condition, value in expression.branches:
                yield condition
                yield value
            yield expression.otherwise
        case _:
            return


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with the expressions directly below it changed."""
    match expression:
        case Member():
            return replace(expression, base=change(expression.base))
        case Apply():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Logic():
            return replace(expression, parts=tuple(map(change, expression.parts)))
        case Not():
            return replace(expression, operand=change(expression.operand))
        case Among():
            options = tuple(map(change, expression.options))
            return replace(expression, value=change(expression.value), options=options)
        case Choice():
            branches = tuple((change(a), change(b)) for a, b in expression.branches)
            return replace(expression, branches=branches, otherwise=change(expression.otherwise))
        case _:
            return expression
