"""Functions that `let` names: their bodies stand in place of their calls.

A body sees its parameters and what let named before it, so no function calls itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kql.errors import KqlError, quoted, suggestion
from kql.functions.arithmetic import convert
from kql.scope import Argument, CheckedQuery, Context, Scope
from kql.syntax import tree as syntax
from kql.syntax.tree import FunctionParameter, TableCall, UserFunction
from kql.typed import Constant, Expression
from kql.types import fits

CheckValue = Callable[[syntax.Expression, Scope], Expression]


def value(call: syntax.Call, scope: Scope, check: CheckValue) -> Expression:
    """Return the value of a call of a function."""
    context = scope.context
    function = context.names.functions[call.name]
    if isinstance(function.body, syntax.QueryPipeline):
        hint = f"take its value: toscalar({call.name}(...))"
        raise KqlError(call.offset, f"{quoted(call.name)} yields a table", hint)
    items = [syntax.Item(argument) for argument in call.arguments]
    given = _given(call.name, function, items, call.offset)
    outer = Scope({}, context)
    bound = {}
    for parameter in function.parameters:
        argument = given.get(parameter.name)
        # A default has the function's scope, and no row.
        frame = outer if argument is None else scope
        bound[parameter.name] = _bound(call.name, parameter, argument, frame, check, call.offset)
    return check(function.body, Scope({}, replace(context, names=function.names, bound=bound)))


def table(
    call: TableCall,
    context: Context,
    check_value: CheckValue,
    piped: CheckedQuery | None = None,
) -> CheckedQuery:
    """Return the table of a call; `piped` is the first argument of invoke."""
    functions = context.names.functions
    function = functions.get(call.name)
    if function is None:
        hint = suggestion(call.name, functions, "name it before: let f = () { ... };")
        raise KqlError(call.offset, f"there is no function {quoted(call.name)} of let", hint)
    if not isinstance(function.body, syntax.QueryPipeline):
        raise KqlError(call.offset, f"{quoted(call.name)} yields a value", "print it")
    parameters = function.parameters
    tables: dict[str, CheckedQuery] = {}
    if piped is not None:
        if not parameters or parameters[0].type is not None:
            hint = "write let f = (T:(*)) { T | ... };"
            raise KqlError(call.offset, "invoke takes a function of a table", hint)
        tables[parameters[0].name] = _fitting(parameters[0], piped, call.offset)
        function = replace(function, parameters=parameters[1:])
    given = _given(call.name, function, call.arguments, call.offset)
    bound: dict[str, Expression] = {}
    for parameter in function.parameters:
        argument = given.get(parameter.name)
        if parameter.type is not None:
            bound[parameter.name] = _bound(
                call.name, parameter, argument, Scope({}, context), check_value, call.offset
            )
        else:
            state = _table_of(call, parameter, argument, context)
            tables[parameter.name] = _fitting(parameter, state, call.offset)
    tables_of = {n: p for n, p in function.names.tables.items() if n not in tables}
    names = replace(function.names, tables=tables_of)
    inner = replace(context, tables={**context.tables, **tables}, names=names, bound=bound)
    assert isinstance(function.body, syntax.QueryPipeline)
    return inner.pipeline(function.body)


def _given(
    name: str, function: UserFunction, items: Sequence[syntax.Item], offset: int
) -> dict[str, syntax.Expression]:
    """Return the arguments by their parameters' names."""
    given: dict[str, syntax.Expression] = {}
    names = [parameter.name for parameter in function.parameters]
    for index, item in enumerate(items):
        if index >= len(names):
            hint = f"its parameters are {', '.join(names) or 'none'}"
            raise KqlError(offset, f"{name} takes {len(names)} arguments", hint)
        parameter_name = item.name or names[index]
        if parameter_name not in names or parameter_name in given:
            what = f"{name} has no parameter {quoted(parameter_name)} left"
            raise KqlError(item.expression.offset, what, f"there are {', '.join(names)}")
        given[parameter_name] = item.expression
    return given


def _bound(
    name: str,
    parameter: FunctionParameter,
    given: syntax.Expression | None,
    scope: Scope,
    check: CheckValue,
    offset: int,
) -> Expression:
    written = given or parameter.default
    assert parameter.type is not None
    if written is None:
        what = f"{name} needs {quoted(parameter.name)}"
        raise KqlError(offset, what, "give an argument, or a default: name:long = 1")
    argument = Argument(check(written, scope), written.offset)
    type_ = argument.value.type
    if isinstance(argument.value, Constant) and (type_, parameter.type) == ("long", "int"):
        return convert(argument.value, "int", written.offset, name)
    if not fits(type_, parameter.type) and type_ != "dynamic":
        what = f"{quoted(parameter.name)} of {name} is {parameter.type}, this is {type_}"
        argument.fail(what, f"write to{parameter.type}(...)")
    return convert(argument.value, parameter.type, written.offset, name)


def _table_of(
    call: TableCall,
    parameter: FunctionParameter,
    given: syntax.Expression | None,
    context: Context,
) -> CheckedQuery:
    match given:
        case syntax.Subquery():
            return context.pipeline(given.pipeline)
        case syntax.Name():
            return context.pipeline(syntax.QueryPipeline(given.offset, given))
        case _:
            what = f"{call.name} needs a table for {quoted(parameter.name)}"
            raise KqlError(call.offset, what, "write a dataset's name, or (dataset | ...)")


def _fitting(parameter: FunctionParameter, state: CheckedQuery, offset: int) -> CheckedQuery:
    """Return a table that has the columns that a parameter declares."""
    for column in parameter.columns:
        has = state.columns.get(column.name)
        if has != column.type:
            what = f"table {quoted(parameter.name)} needs {quoted(column.name)} ({column.type})"
            raise KqlError(offset, what, f"it is {has}" if has else "the table has no such column")
    return state
