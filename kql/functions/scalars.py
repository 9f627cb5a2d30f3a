"""Checker of scalar expressions."""

from collections.abc import Callable
from dataclasses import replace

from kql.catalog.table import FUNCTIONS, INFIX
from kql.dataset_table import COMPUTED
from kql.errors import KqlError, UnknownColumn, quoted, suggestion
from kql.functions import arithmetic, user_functions
from kql.functions import calls as functions
from kql.functions.arguments import constant_text, pattern, taken, with_flags
from kql.functions.arithmetic import Operands, convert
from kql.functions.dynamics import member_key
from kql.functions.folding import folded_constant, folded_term_pattern, folded_value, term_pattern
from kql.functions.membership import among, listed
from kql.functions.normal_forms import normalized
from kql.pushdown.promotion import with_promoted
from kql.regex import escape, plainly_folded
from kql.scope import Argument, Scope
from kql.syntax import slips
from kql.syntax import tree as syntax
from kql.typed import Apply, ColumnValue, Constant, Expression, Logic, Member, Not
from kql.types import ALIASES, DATETIME_MAX, DATETIME_MIN
from segments.token_index.terms import searched_terms

# The containers of attributes: ['attributes.http.route'] means attributes['http.route'].
CONTAINERS = ("attributes", "resource_attributes", "scope_attributes")
# Whether a letter or digit may be before the text that an operator finds, and behind it.
_BOUNDED = {
    **dict.fromkeys(("has", "has_any", "has_all"), (True, True)),
    "hasprefix": (True, False),
    "hassuffix": (False, True),
    "contains": (False, False),
    "startswith": (True, False),
    "endswith": (False, True),
}


def check(expression: syntax.Expression, scope: Scope) -> Expression:
    """Return an expression with its type. Raises KqlError with an offset."""
    budget = scope.context.budget
    with budget.level(expression.offset):
        checked = with_promoted(_checked(expression, scope), scope.promoted)
        budget.check_size(checked, expression.offset)
        return checked


def _checked(expression: syntax.Expression, scope: Scope) -> Expression:
    match expression:
        case syntax.Literal():
            return Constant(expression.value, expression.type)
        case syntax.Name():
            return _name(expression, scope)
        case syntax.Path():
            return _path(expression, scope)
        case syntax.Call():
            return _call(expression, scope)
        case syntax.Infix():
            return _infix(expression, scope)
        case syntax.Negation():
            return arithmetic.negated(argument(expression.operand, scope))
        case syntax.Star():
            raise KqlError(expression.offset, "'*' stands for no value", "name a column")
        case syntax.Subquery():
            hint = "name it before, as let x = toscalar(...), and use it in where or extend"
            raise KqlError(expression.offset, "a query gives no value here", hint)


def argument(expression: syntax.Expression, scope: Scope) -> Argument:
    """Return a checked expression with its place."""
    return Argument(check(expression, scope), expression.offset)


def condition(expression: syntax.Expression, scope: Scope) -> Expression:
    """Return an expression that must be a condition; a dynamic value becomes one."""
    checked = argument(expression, scope)
    if checked.value.type == "dynamic":
        return convert(checked.value, "bool", expression.offset, "")
    if checked.value.type != "bool":
        checked.fail(f"a condition is needed, this is {checked.value.type}", "compare it")
    return checked.value


def _name(name: syntax.Name, scope: Scope) -> Expression:
    if scope.is_aggregated:
        hint = "aggregate it, as max(...), or put it behind by"
        raise KqlError(name.offset, f"column {quoted(name.name)} is not aggregated", hint)
    if name.name in scope.columns:
        return ColumnValue(name.name, scope.columns[name.name])
    context = scope.context
    if name.name in context.bound:
        return context.bound[name.name]
    scalars = context.names.scalars
    if name.name in scalars:
        inner = replace(context, names=context.names.scalars_before(name.name))
        return check(scalars[name.name], replace(scope, columns={}, context=inner))
    if name.name in COMPUTED:
        sources, computed = COMPUTED[name.name]
        if all(scope.columns.get(source) == type_ for source, type_ in sources.items()):
            return computed
    if name.name in scope.constants:
        return scope.constants[name.name]
    for container in CONTAINERS:
        if name.name.startswith(f"{container}.") and scope.columns.get(container) == "dynamic":
            key = name.name[len(container) + 1 :]
            return Member(ColumnValue(container, "dynamic"), (member_key(key, name.offset),))
    hint = slips.column(name.name) or suggestion(
        name.name, [*scope.columns, *scalars], _columns(scope)
    )
    raise UnknownColumn(name.offset, f"there is no column {quoted(name.name)}", hint)


def _columns(scope: Scope) -> str:
    names = list(scope.columns)
    if not names:
        return "there are none here"
    return f"there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def _path(path: syntax.Path, scope: Scope) -> Expression:
    try:
        base = argument(path.base, scope)
    except UnknownColumn as error:
        if isinstance(path.base, syntax.Name) and path.is_dotted:
            dotted = f"{path.base.name}.{path.key}"[:60]
            hint = f"an attribute is attributes['{dotted}'], or attributes.{dotted}"
            raise UnknownColumn(error.offset, error.what, hint) from None
        raise
    if base.value.type != "dynamic":
        base.fail(f"{base.value.type} has no members", "only dynamic values have: parse_json(...)")
    key = member_key(path.key, path.offset)
    if not isinstance(base.value, Member):
        return Member(base.value, (key,))
    keys = (*base.value.keys, key)
    return Member(base.value.base, keys, _flat(path, base.value.base, keys))


def _flat(
    path: syntax.Path, base: Expression, keys: tuple[str | int, ...]
) -> tuple[str | int, ...]:
    """Return a path whose dots belong to an attribute's key: attributes.http.route.

    Empty if no such key is meant: the dots stand right behind attributes.
    """
    dotted: list[bool] = []
    step: syntax.Expression = path
    while isinstance(step, syntax.Path):
        dotted.insert(0, step.is_dotted)
        step = step.base
    dotted = [*[False] * (len(keys) - len(dotted)), *dotted]
    start = 0
    if not (isinstance(base, ColumnValue) and base.name in CONTAINERS):
        if "attributes" not in keys:
            return ()
        start = keys.index("attributes") + 1
    end = start
    while end < len(keys) and dotted[end]:
        end += 1
    if end - start < 2:
        return ()
    return (*keys[:start], ".".join(map(str, keys[start:end])), *keys[end:])


def _call(call: syntax.Call, scope: Scope) -> Expression:
    match call:
        case syntax.Call(name="toscalar"):
            return check(call.arguments[0], scope)
        case syntax.Call(
            arguments=(*given, syntax.Call(name="typeof", arguments=(syntax.Literal() as named,)))
        ):
            return _as_type(replace(call, arguments=tuple(given)), named, scope)
    if call.name in scope.context.names.functions:
        return user_functions.value(call, scope, check)
    return _built_in(call, scope)


def _built_in(call: syntax.Call, scope: Scope) -> Expression:
    function = FUNCTIONS.get(call.name)
    if function is None:
        hint = slips.function(call.name, [*FUNCTIONS, *scope.context.names.functions])
        raise KqlError(call.offset, f"there is no function {quoted(call.name)}", hint)
    if function.rule == "arg" or call.name == "percentiles":
        hint = "it stands in summarize only, and not within an expression"
        raise KqlError(call.offset, f"{call.name} gives several columns", hint)
    if function.is_aggregate and not scope.is_aggregated:
        hint = "it stands in summarize only"
        raise KqlError(call.offset, f"{call.name} is an aggregate", hint)
    if function.rule == "window":
        hint = "use it in extend, project, where or serialize behind sort"
        raise KqlError(call.offset, f"{call.name} looks at other rows, and not here", hint)
    if function.rule == "now" or not function.is_row_by_row:
        return _time(call, scope)
    inner = scope.plain() if function.is_aggregate else scope
    arguments = [argument(a, inner) for a in _without_star(call)]
    if call.name == "rate":
        arguments = with_flags(arguments, inner.columns)
    if call.name == "column_ifexists":
        return _column_if_exists(call, arguments, inner)
    if call.name == "pack_all" and not arguments:
        arguments = _named_columns(call, inner)
    if function.rule or function.taken:
        return functions.typed(function, arguments, call.offset)
    typed = functions.applied(call.name, function.signatures, arguments, call.offset)
    return normalized(typed)


def _as_type(call: syntax.Call, type_name: syntax.Literal, scope: Scope) -> Expression:
    """Return what extract() finds, as the type that typeof() names."""
    type_ = ALIASES.get(str(type_name.value))
    if call.name != "extract" or type_ is None:
        hint = "write extract(regex, 1, text, typeof(long))"
        raise KqlError(type_name.offset, f"typeof({type_name.value}) does not stand here", hint)
    return convert(check(call, scope), type_, call.offset, call.name)


def _column_if_exists(call: syntax.Call, arguments: list[Argument], scope: Scope) -> Expression:
    """Return a column, as the type of the value that stands for it if there is none."""
    arguments = taken(FUNCTIONS[call.name], arguments, call.offset)
    name, otherwise = constant_text(arguments[0]), arguments[1]
    if name not in scope.columns or scope.is_aggregated:
        return otherwise.value
    column = ColumnValue(name, scope.columns[name])
    return convert(column, otherwise.value.type, call.offset, call.name)


def _named_columns(call: syntax.Call, scope: Scope) -> list[Argument]:
    """Return the name and the value of each column."""
    if scope.is_aggregated or not scope.columns:
        raise KqlError(call.offset, "there are no columns to pack", "pack them before summarize")
    # Columns that were added for the operator are not columns of the query.
    shown = ((n, t) for n, t in scope.columns.items() if not n.startswith("$"))
    pairs = ((Constant(n, "string"), ColumnValue(n, t)) for n, t in shown)
    return [Argument(value, call.offset) for pair in pairs for value in pair]


def _without_star(call: syntax.Call) -> tuple[syntax.Expression, ...]:
    is_count = call.name == "count" and len(call.arguments) == 1
    return () if is_count and isinstance(call.arguments[0], syntax.Star) else call.arguments


def _time(call: syntax.Call, scope: Scope) -> Expression:
    now = scope.context.now
    if now is None:
        hint = "write a constant time, or ask for it in the query over the view"
        raise KqlError(call.offset, f"a projection's rows do not depend on {call.name}()", hint)
    arguments = [argument(a, scope) for a in call.arguments]
    signature = FUNCTIONS[call.name].signatures
    checked = functions.applied(call.name, signature, arguments, call.offset)
    assert isinstance(checked, Apply)
    shift = checked.arguments[0] if checked.arguments else Constant(0, "timespan")
    assert isinstance(shift, Constant)
    assert isinstance(shift.value, int)
    value = now + (shift.value if call.name == "now" else -shift.value) // 1_000
    if not DATETIME_MIN <= value <= DATETIME_MAX:
        raise KqlError(call.offset, "the time is beyond the years 1 to 9999", "take a shorter span")
    return Constant(value, "datetime")


def _infix(infix: syntax.Infix, scope: Scope) -> Expression:
    name, offset = infix.operator, infix.offset
    if name in ("and", "or"):
        operands = tuple(condition(e, scope) for e in (infix.left, *infix.right))
        return Logic("and" if name == "and" else "or", operands)
    if isinstance(infix.left, syntax.Star):
        return _any_column(infix, scope)
    left = argument(infix.left, scope)
    right = [_right(e, scope) for e in infix.right]
    if name.removeprefix("!").rstrip("~") == "in":
        return among(left, right, name, offset)
    if name.endswith("between"):
        return arithmetic.between(left, right[0], right[1], name, offset)
    if INFIX[name].signatures:
        if INFIX[name].shape == "list":
            right = listed(right)
        return _text_operator(name, left, right, offset)
    return _PAIRS[name](Operands(left, right[0], name, offset))


def _any_column(infix: syntax.Infix, scope: Scope) -> Expression:
    """Return a condition that holds of some column, as `* has 'text'`: texts and dynamic values."""
    types = ("string", "dynamic")
    columns = [n for n, t in scope.columns.items() if t in types and not n.startswith("$")]
    if not columns or not INFIX[infix.operator].signatures or infix.operator.startswith("!"):
        hint = "write * has 'text', or not(* has 'text')"
        raise KqlError(infix.offset, "this is not a test of all columns that are texts", hint)
    tests = tuple(
        check(replace(infix, left=syntax.Name(infix.left.offset, n)), scope) for n in columns
    )
    return Logic("or", tests) if len(tests) > 1 else tests[0]


def _right(expression: syntax.Expression, scope: Scope) -> Argument:
    """Return a checked operand; a name that is not a column may be a text without quotes."""
    try:
        return argument(expression, scope)
    except UnknownColumn as error:
        if isinstance(expression, syntax.Name) and slips.column(expression.name) is None:
            hint = f"{error.hint}; a text stands in quotes: '{expression.name[:60]}'"
            raise UnknownColumn(error.offset, error.what, hint) from None
        raise


def _text_operator(name: str, left: Argument, right: list[Argument], offset: int) -> Expression:
    """Return a test of texts: none of them is null, and a negated one is true of null."""
    base = name.removeprefix("!")
    if base in ("=~", "~"):
        matches = [_equal_texts(left, right[0], name, offset)]
    else:
        matches = [_test(INFIX[name].signatures, name, base, [left, r], offset) for r in right]
    if not matches:
        return Constant(base == "has_all", "bool")
    if len(matches) == 1:
        condition: Expression = matches[0]
    else:
        condition = Logic("and" if base == "has_all" else "or", tuple(matches))
    return Not(condition) if name.startswith("!") else condition


def _equal_texts(left: Argument, right: Argument, name: str, offset: int) -> Expression:
    sides = [left.value, right.value]
    for side, given in zip(sides, (left, right), strict=True):
        if side.type not in ("string", "dynamic"):
            given.fail(f"{name} compares texts, not {side.type}", "use ==")
    constants = [str(v.value) if isinstance(v, Constant) else None for v in sides]
    constant = next((text for text in constants if text is not None), None)
    a, b = (
        Argument(
            folded_value(convert(value, "string", offset, name), constant, offset, name)
            if text is None
            else folded_constant(text),
            offset,
        )
        for value, text in zip(sides, constants, strict=True)
    )
    return arithmetic.equal(Operands(a, b, name, offset))


def _test(
    signature: tuple[str, ...], name: str, base: str, arguments: list[Argument], offset: int
) -> Expression:
    tested = functions.applied(name, signature, arguments, offset)
    assert isinstance(tested, Apply)
    value, searched = tested.arguments
    assert isinstance(searched, Constant)
    if base == "matches regex":
        return tested
    text, cased = str(searched.value), base.endswith("_cs")
    kind = base.removesuffix("_cs")
    search = _search(value, arguments[1], (text, kind, cased), name, offset)
    return replace(search, terms=searched_terms(text, *_BOUNDED[kind]))


def _search(
    value: Expression, searched: Argument, test: tuple[str, str, bool], name: str, offset: int
) -> Apply:
    text, kind, cased = test
    if kind in ("contains", "startswith", "endswith"):
        if cased:
            return Apply(kind, (value, Constant(text, "string")), "bool", offset, name)
        value = folded_value(value, text, offset, name)
        return Apply(kind, (value, folded_constant(text)), "bool", offset, name)
    compiled = pattern(term_pattern(text, kind), searched)
    if not cased:
        compiled = Constant(folded_term_pattern(text, kind), "string", "regex")
    part = text if cased else plainly_folded(text)
    if not (isinstance(value, ColumnValue) and part):
        return Apply("match", (value, compiled), "bool", offset, name)
    if cased:
        exact = Constant(part, "string")
        return Apply("term_cs", (value, compiled, exact), "bool", offset, name)
    folded, lower = pattern(f"(?i){escape(part)}", searched), Constant(part.lower(), "string")
    return Apply("term", (value, compiled, folded, lower), "bool", offset, name)


_PAIRS: dict[str, Callable[[Operands], Expression]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%"), arithmetic.arithmetic),
    **dict.fromkeys(("<", "<=", ">", ">="), arithmetic.compared),
    "==": arithmetic.equal,
    "!=": arithmetic.unequal,
    "<>": arithmetic.unequal,
}
