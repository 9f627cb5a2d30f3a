"""Checker of union: rows of several tables, or of all datasets of a group."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kql.errors import KqlError, quoted
from kql.functions.arithmetic import convert
from kql.scope import (
    COLUMNS_MAX,
    GROUP_DATASETS_MAX,
    CheckedQuery,
    Context,
    GroupedTables,
    check_names,
    fresh,
    rows_of,
)
from kql.syntax import tree as syntax
from kql.typed import Columns, ColumnValue, Constant, Expression, Relation, Select, Table, Union
from kql.types import NUMBERS, KqlType

_TEXT: KqlType = "string"


def union(operator: syntax.Operator, state: CheckedQuery | None, context: Context) -> CheckedQuery:
    """Return the rows of all inputs: columns by name, null if an input lacks one."""
    unknown = set(operator.parameters) - {"kind", "isfuzzy", "withsource"}
    if unknown:
        raise KqlError(operator.offset, f"union has no {min(unknown)}", "leave it out")
    kind = operator.parameters.get("kind", "outer")
    if kind not in ("outer", "inner"):
        raise KqlError(operator.offset, f"union has no kind {quoted(kind)}", "write outer or inner")
    pairs = list(_inputs(operator, state, context))
    inputs = [each for _, each in pairs]
    if column := operator.parameters.get("withsource"):
        inputs = [_with_source(each, column, name, operator) for name, each in pairs]
    columns: dict[str, KqlType] = {}
    for each in inputs:
        for name, type_ in each.columns.items():
            columns[name] = _wider(columns.get(name, type_), type_, name, operator.offset)
    if kind == "inner":
        columns = {n: t for n, t in columns.items() if all(n in i.columns for i in inputs)}
        if not columns:
            raise KqlError(operator.offset, "the inputs have no column in common", "use kind=outer")
    if len(columns) > COLUMNS_MAX:
        hint = f"at most {COLUMNS_MAX:,} are allowed: use kind=inner, or project fewer"
        raise KqlError(operator.offset, f"there would be {len(columns):,} columns", hint)
    check_names(columns, operator.offset)
    shared = set(inputs[0].constants).intersection(*(each.constants for each in inputs))
    hidden = {name: fresh(f"${name}", columns) for name in sorted(shared)}
    every: Columns = {**columns, **dict.fromkeys(hidden.values(), _TEXT)}
    relation = Union(tuple(_with_columns(i, columns, hidden, every) for i in inputs), every)
    carried = {name: ColumnValue(column, "string") for name, column in hidden.items()}
    return CheckedQuery(relation, columns, constants=carried)


def _inputs(
    operator: syntax.Operator, state: CheckedQuery | None, context: Context
) -> Iterator[tuple[str, CheckedQuery]]:
    """Yield the inputs of a union and their names: a dataset's has its group if it is another."""
    if state is not None:
        yield "union_arg0", state
    query_group = context.group_of(None)
    tables = [s.source for s in operator.sources if not s.operators]
    has_others = any(
        isinstance(table, syntax.Name | syntax.GroupTables)
        and context.group_of(table.database) != query_group
        for table in tables
    )
    for index, source in enumerate(operator.sources, 0 if state is None else 1):
        table = None if source.operators else source.source
        if isinstance(table, syntax.GroupTables):
            for member in _members(table, context):
                group = context.group_of(table.database)
                in_group = member.name.removeprefix(f"{group}/")
                yield member.name if has_others else in_group, rows_of(member)
            continue
        name = f"union_arg{index}"
        if isinstance(table, syntax.Name):
            is_let = table.database is None and table.name in context.names.tables
            group = context.group_of(table.database) if has_others and not is_let else ""
            name = f"{group}/{table.name}" if group else table.name
        yield name, context.pipeline(source)


def _members(source: syntax.GroupTables, context: Context) -> list[Table]:
    """Return the datasets of a group that the caller may read, by name."""
    tables, group = context.tables, context.group_of(source.database)
    if isinstance(tables, GroupedTables):
        names = list(tables.names_in(group, GROUP_DATASETS_MAX))
    else:
        names = sorted(n for n in tables if n.rpartition("/")[0] == group)
    context.budget.count_group(names, source.offset)
    members = [table for name in names if isinstance(table := tables.get(name), Table)]
    if not members:
        what = f"there is no dataset in a group {quoted(source.database)}"
        raise KqlError(source.offset, what, "segplane groups list")
    return members


def _with_source(
    state: CheckedQuery, column: str, name: str, operator: syntax.Operator
) -> CheckedQuery:
    """Return rows with the name of their table, as the first column."""
    if column in state.columns:
        what = f"column {quoted(column)} is there already"
        raise KqlError(operator.offset, what, "choose another name for withsource")
    values: dict[str, Expression] = {column: Constant(name, "string"), **state.everything()}
    return replace(state, order=()).select(values, operator.offset)


def _wider(left: KqlType, right: KqlType, name: str, offset: int) -> KqlType:
    if left == right:
        return left
    if left in NUMBERS and right in NUMBERS:
        return max(left, right, key=NUMBERS.index)
    what = f"column {quoted(name)} is {left} in one input and {right} in another"
    raise KqlError(offset, what, "convert or rename one of them first")


def _with_columns(
    state: CheckedQuery, columns: Columns, hidden: Mapping[str, str], every: Columns
) -> Relation:
    """Return rows with all columns of a union, null for those that they lack."""
    values: dict[str, Expression] = {name: state.constants[n] for n, name in hidden.items()}
    for name, type_ in columns.items():
        if name in state.columns:
            values[name] = convert(ColumnValue(name, state.columns[name]), type_, 0, "union")
        else:
            values[name] = Constant(None, type_)
    return Select(state.relation, values, every)
