"""Checker of search: rows with a text in some column, of a table or of several."""

from dataclasses import replace

from kql.errors import KqlError, quoted
from kql.functions.scalars import condition
from kql.operators import unions
from kql.scope import CheckedQuery, Context
from kql.syntax import tree as syntax
from kql.syntax.tree import Call, Infix, Literal, Star
from kql.typed import RowFilter

_TABLE = "$table"


def search(operator: syntax.Operator, state: CheckedQuery | None, context: Context) -> CheckedQuery:
    """Return the rows that match; of several tables with the name of theirs, as $table."""
    if state is None:
        if not operator.sources:
            hint = "write search in (dataset, ...) 'text', or dataset | search 'text'"
            raise KqlError(operator.offset, "search has no table", hint)
        union = replace(operator, name="union", parameters={"withsource": _TABLE})
        state = unions.union(union, None, context)
    elif operator.sources:
        what = "search has tables before it and in brackets"
        raise KqlError(operator.offset, what, "leave one of them out")
    kind = operator.parameters.get("kind", "case_insensitive")
    if kind not in ("case_insensitive", "default", "case_sensitive"):
        hint = "write case_insensitive or case_sensitive"
        raise KqlError(operator.offset, f"search has no kind {quoted(kind)}", hint)
    suffix = "_cs" if kind == "case_sensitive" else ""
    expression = _test(operator.items[0].expression, suffix)
    tested = condition(expression, state.scope(context))
    return state.over(RowFilter(state.relation, tested, state.relation.columns))


def _test(expression: syntax.Expression, suffix: str) -> syntax.Expression:
    """Return a condition in which each text stands for a test of all columns."""
    match expression:
        case Literal(type="string", value=str() as text):
            return _matches(text, expression, suffix)
        case Infix(operator="and" | "or"):
            right = tuple(_test(e, suffix) for e in expression.right)
            return replace(expression, left=_test(expression.left, suffix), right=right)
        case Call(name="not"):
            inner = tuple(_test(e, suffix) for e in expression.arguments)
            return replace(expression, arguments=inner)
        case _:
            return expression


def _matches(text: str, written: Literal, suffix: str) -> syntax.Expression:
    """Return the test of a text, whose stars stand for what may be before or behind it."""
    bare = text.strip("*")
    if not bare or "*" in bare:
        hint = "write 'text', 'text*', '*text' or '*text*'"
        raise KqlError(written.offset, f"{quoted(text)} is not text to search for", hint)
    name = {
        (False, False): "has",
        (False, True): "hasprefix",
        (True, False): "hassuffix",
        (True, True): "contains",
    }[text.startswith("*"), text.endswith("*")]
    offset = written.offset
    return Infix(offset, f"{name}{suffix}", Star(offset), (replace(written, value=bare),))
