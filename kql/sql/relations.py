"""Typed relations as SELECTs of sqlglot, each over the one below it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from kql.errors import NotOnEngine
from kql.pushdown.reads import pruned
from kql.scope import CheckedQuery
from kql.sql.engines import ENGINES, Engine, EngineName
from kql.sql.expressions import ExpressionWriter, SqlPattern, to_text
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
    Ordering,
    Relation,
    RowFilter,
    Scan,
    Select,
    Table,
    Union,
)

# The form of a table in SQL: a name, or a query of one.
Source = Callable[[Table], exp.Expression]


def to_sql(
    state: CheckedQuery,
    engine: EngineName,
    source: Source | None = None,
    *,
    is_pretty: bool = False,
) -> str:
    """Return the SQL text of a checked query. Raises NotOnEngine."""
    return to_text(to_tree(state, engine, source), engine, is_pretty=is_pretty)


def to_tree(state: CheckedQuery, engine: EngineName, source: Source | None = None) -> exp.Query:
    """Return the tree of a checked query."""
    writer = _Writer(ENGINES[engine], source or table_name)
    return writer.root(pruned(state))


def table_name(table: Table) -> exp.Expression:
    """Return a table's own name."""
    return exp.Table(this=_quoted(table.name))


def tables_named(
    names: Mapping[str, str], schemas: Mapping[str, str] | None = None, catalog: str = ""
) -> Source:
    """Return what gives tables other names, and a catalog and their schemas before them."""

    def source(table: Table) -> exp.Expression:
        schema = (schemas or {}).get(table.name)
        return exp.Table(
            this=_quoted(names.get(table.name, table.name)),
            db=_quoted(schema) if schema else None,
            catalog=_quoted(catalog) if catalog else None,
        )

    return source


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


class _Writer:
    """Writes one query; aliases are numbered from its bottom up."""

    def __init__(self, engine: Engine, source: Source) -> None:
        self._engine = engine
        self._source = source
        self._aliases = 0

    def root(self, state: CheckedQuery) -> exp.Query:
        """Write a whole query: its visible columns, in its order."""
        hidden = set(state.relation.columns) - set(state.columns)
        if not state.order and not hidden:
            return self.query(state.relation)
        alias, select = self._over(state.relation, state.columns)
        if state.order:
            select = select.order_by(*_order(state.order, alias))
        return select

    def query(self, relation: Relation) -> exp.Query:
        """Write a relation as its own query."""
        return _WRITERS[type(relation)](self, relation)

    def _over(self, relation: Relation, names: Iterable[str] = ()) -> tuple[str, exp.Select]:
        """Return a SELECT of some columns of a relation, and the relation's alias in it."""
        alias = self._alias()
        inner = self.query(relation).subquery(_quoted(alias), copy=False)
        columns = [_named(_column(name, alias), name) for name in names]
        return alias, exp.Select(expressions=columns).from_(inner, copy=False)

    def _alias(self) -> str:
        self._aliases += 1
        return f"_{self._aliases}"

    def _expressions(self, alias: str = "") -> ExpressionWriter:
        return ExpressionWriter(self._engine, lambda name: _column(name, alias))

    def _scan(self, scan: Scan) -> exp.Query:
        select = exp.Select().from_(self._source(scan.table), copy=False)
        for name in scan.columns:
            stored: exp.Expression = _column(scan.table.stored.get(name, name))
            if name in scan.table.computed:
                stored = self._expressions().value(scan.table.computed[name])
            if name in scan.table.lists:
                pattern = self._engine.patterns["stored_list"]
                stored = SqlPattern(this=pattern, expressions=[stored])
            select.append("expressions", _named(stored, name))
        return select

    def _rows(self, rows: ConstantRows) -> exp.Query:
        writer = self._expressions()
        if len(rows.rows) == 1:
            values = dict(zip(rows.columns, rows.rows[0], strict=True))
            return self._columns(exp.Select(), values, writer)
        tuples = [exp.Tuple(expressions=list(map(writer.value, row))) for row in rows.rows]
        names = [_quoted(name) for name in rows.columns]
        alias = exp.TableAlias(this=_quoted(self._alias()), columns=names)
        values_of_rows = exp.Values(expressions=tuples, alias=alias)
        shown = [_named(_column(name), name) for name in rows.columns]
        return exp.Select(expressions=shown).from_(values_of_rows, copy=False)

    def _filter(self, relation: RowFilter) -> exp.Query:
        columns = {n: ColumnValue(n, type_) for n, type_ in relation.columns.items()}
        return self._select(Select(relation, columns, relation.columns))

    def _select(self, relation: Select) -> exp.Query:
        conditions, below = list[Expression](), relation.input
        while isinstance(below, RowFilter):
            conditions.append(below.condition)
            below = below.input
        alias, select = self._over(below)
        writer = self._expressions(alias)
        self._columns(select, relation.values, writer)
        for condition in reversed(conditions):
            select = select.where(writer.condition(condition), copy=False)
        return select

    def _columns(
        self, select: exp.Select, values: Mapping[str, Expression], writer: ExpressionWriter
    ) -> exp.Select:
        for name, value in values.items():
            select.append("expressions", _named(writer.value(value), name))
        return select

    def _aggregate(self, relation: Aggregate) -> exp.Query:
        """Write groups by their positions; by their columns if nothing is aggregated."""
        alias, select = self._over(relation.input)
        writer = self._expressions(alias)
        self._columns(select, {**relation.by, **relation.values}, writer)
        if relation.by:
            positions = (exp.Literal.number(n + 1) for n in range(len(relation.by)))
            select = select.group_by(*positions, copy=False)
        return select

    def _distinct(self, relation: Distinct) -> exp.Query:
        alias, select = self._over(relation.input, relation.columns)
        if not relation.on:
            return select.distinct(copy=False)
        keys = [_column(name, alias) for name in relation.on]
        number = exp.Window(
            this=exp.RowNumber(),
            partition_by=keys,
            order=exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys]),
        )
        select.append("expressions", _named(number, _NUMBER))
        outer_alias = self._alias()
        shown = [_named(_column(name, outer_alias), name) for name in relation.columns]
        outer = exp.Select(expressions=shown)
        outer = outer.from_(select.subquery(_quoted(outer_alias), copy=False), copy=False)
        first = exp.EQ(this=_column(_NUMBER, outer_alias), expression=exp.Literal.number(1))
        return outer.where(first, copy=False)

    def _limit(self, relation: Limit) -> exp.Query:
        alias, select = self._over(relation.input, relation.columns)
        if relation.order:
            select = select.order_by(*_order(relation.order, alias), copy=False)
        return select if relation.count is None else select.limit(relation.count, copy=False)

    def _expand(self, relation: Expand) -> exp.Query:
        if "elements" not in self._engine.patterns:
            what = f"mv-expand is not available on {self._engine.name}"
            raise NotOnEngine(relation.offset, what, "run the query on duckdb, or leave it out")
        others = [name for name in relation.columns if name != relation.name]
        alias, select = self._over(relation.input, others)
        array = self._expressions(alias).value(relation.array)
        elements = SqlPattern(this=self._engine.patterns["elements"], expressions=[array])
        select.append("expressions", _named(elements, relation.name))
        return select

    def _numbered(self, relation: Numbered) -> exp.Query:
        others = [name for name in relation.columns if name != relation.name]
        alias, select = self._over(relation.input, others)
        order = _order(relation.order, alias)
        if not order and (any_order := self._engine.patterns.get("any_order")):
            order = [SqlPattern(this=any_order, expressions=[])]
        by = exp.Order(expressions=order) if order else None
        number = exp.Window(this=exp.RowNumber(), order=by)
        select.append("expressions", _named(number, relation.name))
        return select

    def _union(self, relation: Union) -> exp.Query:
        return _all_of([self.query(each) for each in relation.inputs])

    def _join(self, relation: Join) -> exp.Query:
        left, select = self._over(relation.left)
        right = self._alias()
        inner = self.query(relation.right).subquery(_quoted(right), copy=False)
        conditions = [
            exp.EQ(
                this=self._expressions(left).value(a), expression=self._expressions(right).value(b)
            )
            for a, b in relation.keys
        ]
        sides = {"left": left, "right": right}
        for name, (side, column) in relation.outputs.items():
            select.append("expressions", _named(_column(column, sides[side]), name))
        if relation.kind in ("leftsemi", "leftanti"):
            subquery = exp.Select(expressions=[exp.Literal.number(1)])
            exists = exp.Exists(
                this=subquery.from_(inner, copy=False).where(*conditions, copy=False)
            )
            is_semi = relation.kind == "leftsemi"
            return select.where(exists if is_semi else exp.Not(this=exists), copy=False)
        on = exp.and_(*conditions, copy=False) if conditions else exp.true()
        return select.join(inner, on=on, join_type=_JOINS[relation.kind], copy=False)


_WRITERS: dict[type, Callable[[_Writer, Any], exp.Query]] = {
    Scan: _Writer._scan,
    ConstantRows: _Writer._rows,
    RowFilter: _Writer._filter,
    Select: _Writer._select,
    Aggregate: _Writer._aggregate,
    Numbered: _Writer._numbered,
    Distinct: _Writer._distinct,
    Limit: _Writer._limit,
    Expand: _Writer._expand,
    Union: _Writer._union,
    Join: _Writer._join,
}
_NUMBER = "$number"
_JOINS = {"inner": "INNER", "leftouter": "LEFT", "rightouter": "RIGHT", "fullouter": "FULL"}


def _column(name: str, alias: str = "") -> exp.Column:
    return exp.Column(this=_quoted(name), table=_quoted(alias) if alias else None)


def _named(expression: exp.Expression, name: str) -> exp.Alias:
    return exp.Alias(this=expression, alias=_quoted(name))


def _order(order: tuple[Ordering, ...], alias: str) -> list[exp.Expression]:
    return [
        exp.Ordered(this=_column(o.column, alias), desc=o.is_descending, nulls_first=o.nulls_first)
        for o in order
    ]


def _all_of(selects: Sequence[exp.Query]) -> exp.Query:
    """Return the rows of all, by position; in halves, since engines recurse over a union."""
    if len(selects) == 1:
        return selects[0]
    middle = len(selects) // 2
    left, right = _all_of(selects[:middle]), _all_of(selects[middle:])
    return exp.Union(this=left, expression=right, distinct=False)
