"""The syntax tree of pipelines and scalar expressions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeVar

from kql.types import KqlType, Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant with its type."""

    offset: int
    value: Value
    type: KqlType


@dataclass(frozen=True, slots=True)
class Name:
    """A column, what `let` named, or a table; `database` is its group, None = that of the query."""

    offset: int
    name: str
    database: str | None = None


@dataclass(frozen=True, slots=True)
class GroupTables:
    """All datasets of a group, which a union reads: `database('group').*`."""

    offset: int
    database: str


@dataclass(frozen=True, slots=True)
class Star:
    """`*` in an aggregate, or in count(*)."""

    offset: int


@dataclass(frozen=True, slots=True)
class Path:
    """A member of a dynamic value, or an element of an array."""

    offset: int
    base: "Expression"
    key: str | int
    is_dotted: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function."""

    offset: int
    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Infix:
    """An operator between values: one on the left, one or more on the right."""

    offset: int
    operator: str
    left: "Expression"
    right: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """A number or timespan with its sign turned."""

    offset: int
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Subquery:
    """A table within an expression: the values of `in`, or the one of `toscalar`."""

    offset: int
    pipeline: "QueryPipeline"


Expression = Literal | Name | Star | Path | Call | Infix | Negation | Subquery


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions directly below one."""
    match expression:
        case Path():
            yield expression.base
        case Call():
            yield from expression.arguments
        case Infix():
            yield from (expression.left, *expression.right)
        case Negation():
            yield expression.operand


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with the expressions directly below it changed."""
    match expression:
        case Path():
            return replace(expression, base=change(expression.base))
        case Call():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case Infix():
            right = tuple(map(change, expression.right))
            return replace(expression, left=change(expression.left), right=right)
        case Negation():
            return replace(expression, operand=change(expression.operand))
        case _:
            return expression


@dataclass(frozen=True, slots=True)
class Item:
    """`name = expression`; without a name the expression gives one."""

    expression: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A column's name, or a pattern with `*`."""

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an order; `nulls_first` is None if the direction decides."""

    expression: Expression
    is_descending: bool = True
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A column that `parse` reads out of a text."""

    offset: int
    name: str
    type: KqlType


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a pipeline; its parts depend on its name."""

    offset: int
    name: str
    items: tuple[Item, ...] = ()
    by: tuple[Item, ...] = ()
    # The axis of make-series: the column, its first value, its end, and the step.
    axis: tuple[Item, ...] = ()
    keys: tuple[Key, ...] = ()
    patterns: tuple[NamePattern, ...] = ()
    renames: tuple[tuple[str, NamePattern], ...] = ()
    # Texts, captures and "*" of `parse`: None stands for "*".
    parts: tuple[str | Capture | None, ...] = ()
    sources: tuple["QueryPipeline", ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    type: KqlType | None = None
    call: "TableCall | None" = None

    def expressions(self) -> Iterator[Expression]:
        """Yield the expressions of items, groups and orders."""
        for item in (*self.items, *self.by):
            yield item.expression
        for key in self.keys:
            yield key.expression

    def rewritten(
        self, change: Callable[[Expression], Expression], item: Callable[[Item], Item]
    ) -> "Operator":
        """Return the operator with other items and groups, and with other expressions of orders."""
        items, by = tuple(map(item, self.items)), tuple(map(item, self.by))
        keys = tuple(replace(key, expression=change(key.expression)) for key in self.keys)
        return replace(self, items=items, by=by, keys=keys)


@dataclass(frozen=True, slots=True)
class QueryPipeline:
    """A source and the operators over it; a projection has no source."""

    offset: int
    source: "TableSource | None"
    operators: tuple[Operator, ...] = ()


@dataclass(frozen=True, slots=True)
class TableCall:
    """A call of a function of `let` that yields a table."""

    offset: int
    name: str
    arguments: tuple[Item, ...] = ()


TableSource = Name | GroupTables | TableCall | QueryPipeline


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter: of a type, or a table with at least some columns; a value may have a default."""

    offset: int
    name: str
    type: KqlType | None = None
    columns: tuple[Capture, ...] = ()
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function that `let` named; `names` are those that its body sees."""

    offset: int
    parameters: tuple[FunctionParameter, ...]
    names: "Names"
    body: "Expression | QueryPipeline"


@dataclass(slots=True)
class Names:
    """Names that `let` gave: values, tables and functions, each in order."""

    scalars: dict[str, Expression] = field(default_factory=dict)
    tables: dict[str, QueryPipeline] = field(default_factory=dict)
    functions: dict[str, UserFunction] = field(default_factory=dict)

    def scalars_before(self, name: str) -> "Names":
        """Return what the value of a name sees: a let sees those before it only."""
        return replace(self, scalars=_before(self.scalars, name))

    def tables_before(self, name: str) -> "Names":
        """Return what the table of a name sees of the other tables."""
        return replace(self, tables=_before(self.tables, name))

    def copy(self) -> "Names":
        """Return these names by themselves."""
        return Names(dict(self.scalars), dict(self.tables), dict(self.functions))


Named = TypeVar("Named")


def _before(functions: Mapping[str, Named], name: str) -> dict[str, Named]:
    return dict(takewhile(lambda item: item[0] != name, functions.items()))


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A pipeline with the names that `let` gave before it."""

    pipeline: QueryPipeline
    names: Names = field(default_factory=Names)
