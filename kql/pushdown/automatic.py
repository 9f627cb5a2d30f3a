"""Automatic columns: values of attributes that some files have in their own column.

A query says `attributes['user.id']`, and the files decide how the value is read. So its conversions
become hidden columns of the scan, which the source of the scan gives: from the file's column where
the file says that it may stand for the attribute, else from the JSON. Everything above is the same
for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kql.pushdown.prefilters import prefilter
from kql.scope import CheckedQuery
from kql.typed import (
    Aggregate,
    Apply,
    Columns,
    ColumnValue,
    Expand,
    Expression,
    Join,
    Limit,
    Logic,
    Member,
    Numbered,
    Promoted,
    Relation,
    RowFilter,
    Scan,
    Select,
    Table,
    rebuilt,
)
from kql.types import KqlType
from kql.walks import every, inputs, with_inputs

# Conversions of a dynamic value that depend on nothing but the value.
_CONVERSIONS = frozenset(
    [
        *("dynamic_to_string", "dynamic_is_number", "dynamic_to_int", "dynamic_to_long"),
        *("dynamic_to_real", "dynamic_to_number"),
    ]
)
_PREFIX = "$attribute"
# Columns of a relation that are some attributes of a table, unchanged.
_Sources = Mapping[str, tuple[Table, str]]
_NONE: Columns = {}


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A conversion of an attribute as a column; `columns` are those that may stand for it.

    A column that `is_prefilter` is a cheap condition, true for each row that a filter keeps: with a
    column that stands for the attribute none is needed.
    """

    name: str
    value: Expression
    columns: tuple[Promoted, ...]
    is_prefilter: bool = False


def with_hidden_columns(
    state: CheckedQuery,
) -> tuple[CheckedQuery, Mapping[str, tuple[HiddenColumn, ...]]]:
    """Return a query that reads attributes as hidden columns of its scans, and those by table."""
    hiding = _Hiding(state.relation)
    relation = hiding.relation(state.relation, _NONE) if hiding.is_needed else state.relation
    by_table: dict[str, list[HiddenColumn]] = {}
    for (table, _), column in hiding.hidden.items():
        by_table.setdefault(table, []).append(column)
    tables = {name: tuple(columns) for name, columns in by_table.items()}
    return replace(state, relation=relation), tables


class _Hiding:
    """Rewrites relations from the top; `hidden` are the columns, by table and value."""

    def __init__(self, relation: Relation) -> None:
        relations = list(every(relation))
        self.is_needed = any(isinstance(r, Scan) and r.table.automatic for r in relations)
        self._taken = {name.lower() for each in relations for name in each.columns}
        self.hidden: dict[tuple[str, Expression], HiddenColumn] = {}

    def relation(self, relation: Relation, passed: Columns) -> Relation:
        """Return a relation that has the `passed` hidden columns too."""
        used = [dict(passed) for _ in inputs(relation)]
        kept = self._with_hidden(relation, passed, used)
        pairs = zip(inputs(relation), used, strict=True)
        above = with_inputs(kept, [self.relation(each, names) for each, names in pairs])
        return replace(above, columns={**relation.columns, **passed})

    def _with_hidden(
        self, relation: Relation, passed: Columns, used: list[dict[str, KqlType]]
    ) -> Relation:
        """Return a relation that names hidden columns of its inputs, which `used` collects."""
        match relation:
            case RowFilter():
                sources = _sources(relation.input)
                condition = self._condition(relation.condition, sources, used[0])
                return replace(relation, condition=condition)
            case Select():
                values = self._values(relation.values, relation.input, used[0])
                kept = {name: ColumnValue(name, type_) for name, type_ in passed.items()}
                return replace(relation, values={**values, **kept})
            case Expand():
                return replace(relation, array=self._value(relation.array, relation.input, used[0]))
            case Scan() | Numbered() | Limit():
                return relation
        assert not passed, "hidden columns pass through operators on rows alone"
        match relation:
            case Aggregate():
                by = self._values(relation.by, relation.input, used[0])
                values = self._values(relation.values, relation.input, used[0])
                return replace(relation, by=by, values=values)
            case Join(left=left, right=right):
                keys = tuple(
                    (self._value(a, left, used[0]), self._value(b, right, used[1]))
                    for a, b in relation.keys
                )
                return replace(relation, keys=keys)
            case _:
                return relation

    def _values(
        self, values: Mapping[str, Expression], source: Relation, used: dict[str, KqlType]
    ) -> dict[str, Expression]:
        return {name: self._value(value, source, used) for name, value in values.items()}

    def _condition(
        self, condition: Expression, sources: _Sources, used: dict[str, KqlType]
    ) -> Expression:
        """Return a condition of a filter with hidden columns, behind cheap ones for the JSON."""
        if not sources:
            return condition
        if isinstance(condition, Logic):
            return rebuilt(condition, lambda part: self._condition(part, sources, used))
        types: dict[str, KqlType] = {}
        rewritten = self._rewritten(condition, sources, types)
        used |= types
        before = prefilter(condition) if types else None
        hidden = {c.name: (table, c) for (table, _), c in self.hidden.items() if c.name in types}
        attributes = {(table, column.columns) for table, column in hidden.values()}
        if before is None or len(attributes) != 1:
            return rewritten
        ((table, columns),) = attributes
        name = self._name(table, _unnamed(before, sources), columns, is_prefilter=True)
        used[name] = "bool"
        return Logic("and", (ColumnValue(name, "bool"), rewritten))

    def _value(
        self, expression: Expression, source: Relation, used: dict[str, KqlType]
    ) -> Expression:
        """Return an expression with hidden columns of its input, which are added to `used`."""
        sources = _sources(source)
        return self._rewritten(expression, sources, used) if sources else expression

    def _rewritten(
        self, expression: Expression, sources: _Sources, used: dict[str, KqlType]
    ) -> Expression:
        match expression:
            case Apply(
                template=template,
                arguments=(Member(base=ColumnValue() as base, keys=(str() as key,), flat=()),),
            ) if template in _CONVERSIONS and base.name in sources:
                table, attributes = sources[base.name]
                keyed = (p for p in table.automatic if (p.base, p.attribute) == (attributes, key))
                if columns := tuple(keyed):
                    member = Member(ColumnValue(attributes, "dynamic"), (key,))
                    value = Apply(template, (member,), expression.type)
                    name = self._name(table.name, value, columns)
                    used[name] = value.type
                    return ColumnValue(name, value.type)
                return expression
            case _:
                return rebuilt(expression, lambda part: self._rewritten(part, sources, used))

    def _name(
        self,
        table: str,
        value: Expression,
        columns: tuple[Promoted, ...],
        *,
        is_prefilter: bool = False,
    ) -> str:
        key = (table, value)
        if key not in self.hidden:
            number = len(self.hidden) + 1
            while f"{_PREFIX}{number}" in self._taken:
                number += 1
            name = f"{_PREFIX}{number}"
            self._taken.add(name)
            self.hidden[key] = HiddenColumn(name, value, columns, is_prefilter)
        return self.hidden[key].name


def _unnamed(expression: Expression, sources: _Sources) -> Expression:
    """Return an expression over attributes by the names that the table has for them."""
    if isinstance(expression, ColumnValue):
        return replace(expression, name=sources[expression.name][1])
    return rebuilt(expression, lambda part: _unnamed(part, sources))


def _sources(relation: Relation) -> _Sources:
    """Return the columns that are a table's attributes as they are."""
    match relation:
        case Scan(table=table):
            bases = {column.base for column in table.automatic}
            return {base: (table, base) for base in bases if base in relation.columns}
        case Limit(count=int()):
            # The JSON of the few remaining rows costs less than a column of all rows.
            return {}
        case RowFilter() | Numbered() | Limit() | Expand():
            sources = _sources(relation.input)
            changed = relation.name if isinstance(relation, Numbered | Expand) else ""
            return {name: source for name, source in sources.items() if name != changed}
        case Select():
            sources = _sources(relation.input)
            return {
                name: sources[value.name]
                for name, value in relation.values.items()
                if isinstance(value, ColumnValue) and value.name in sources
            }
        case _:
            return {}
