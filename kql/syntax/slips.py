"""Hints for common slips: words of SQL and of other dialects, and signs that KQL does not have."""

from collections.abc import Iterable

from kql.errors import suggestion

# Texts in the place of an operator or of the end.
_BEHIND = {
    "=": "write == to compare",
    "like": "write contains 'x', startswith 'x' or matches regex 'x': % is not a wildcard",
    "ilike": "write contains 'x', startswith 'x' or matches regex 'x': % is not a wildcard",
    "is": "write isempty(x) of a text, isnull(x) of others; isnotempty and isnotnull negate them",
    "not": "write !in (...), !contains 'x', or not(condition)",
    "limit": "a limit is its own operator: | take 5",
    "offset": "there is no offset: sort, and filter by what the last page ended with",
    "group": "write summarize count() by x",
    "having": "a condition behind summarize is | where n > 5",
    "when": "write case(condition, value, otherwise)",
    "by": "write top 5 by x, or sort by x | take 5",
    "in": "write x in ('a', 'b')",
    "as": "write name = expression",
    "-": "a name with a sign stands in brackets and quotes: ['web-1']",
    "(": "this operator has no brackets: write count or distinct x",
}
# The word before the token that was not expected.
_BEFORE = {
    "not": "write not(x == 'y')",
    "interval": "write a timespan: now() - 1h",
}
_OPERATORS = {
    "select": "write project a, b",
    "group": "write summarize count() by x",
    "having": "write where behind summarize",
    "skip": "there is no offset: sort, and filter by what the last page ended with",
    "head": "write take 10",
    "stats": "write summarize count() by x",
    "fields": "write project a, b",
    "table": "write project a, b",
    "eval": "write extend x = expression",
    "rename": "write project-rename new = old",
    "drop": "write project-away x",
    "dedup": "write distinct x",
    "join": "write join kind=inner (table) on column",
    "|": "or between conditions is written or",
}
_FUNCTIONS = {
    "upper": "toupper(x)", "lower": "tolower(x)", "length": "strlen(x) of a text, array_length(x)",
    "len": "strlen(x) of a text, array_length(x)", "concat": "strcat(a, b)", "if": "iff(c, a, b)",
    "ifnull": "coalesce(a, b)", "nvl": "coalesce(a, b)", "isnullorempty": "isempty(x)",
    "substr": "substring(x, start, length)", "date_trunc": "bin(timestamp, 1h)",
    "cast": "tolong(x), tostring(x) and their like", "median": "percentile(x, 50)",
    "p50": "percentile(x, 50)", "p90": "percentile(x, 90)", "p95": "percentile(x, 95)",
    "p99": "percentile(x, 99)", "quantile": "percentile(x, 99)", "mean": "avg(x)",
    "current_timestamp": "now()", "regexp_matches": "x matches regex 'y'",
    "regexp_extract": "extract(regex, group, x)", "replace": "replace_string(x, old, new)",
    "like": "x contains 'y'", "first": "take_any(x), or arg_min(timestamp, x)",
    "last": "arg_max(timestamp, x)", "json_extract": "attributes['key']",
    "timestampdiff": "datetime_diff('hour', to, from)", "stddev": "stdev(x)",
}  # fmt: skip
_NAMES = {
    "null": "write isempty(x) of a text, isnull(x) of others",
    "none": "write isempty(x) of a text, isnull(x) of others",
    "true": "write true",
    "false": "write false",
}
_SQL_BEGINS = frozenset(["select", "with", "from", "show", "describe"])


def behind(token: str, before: str, first: str) -> str | None:
    """Return a hint for a token in the place of an operator or of the end."""
    if first.lower() in _SQL_BEGINS:
        return "this looks like SQL: KQL begins with a table, as in web | where x == 'y' | take 10"
    return _BEFORE.get(before.lower()) or _BEHIND.get(token.lower())


def operator(name: str, names: Iterable[str]) -> str:
    """Return a hint for an operator that is not there."""
    operators = list(names)
    if name.lower() in operators:
        return f"operators are written in lower case: {name.lower()}"
    return _OPERATORS.get(name.lower()) or suggestion(
        name, operators, "docs/kql.md lists those there are"
    )


def function(name: str, names: Iterable[str]) -> str:
    """Return a hint for a function that is not there."""
    functions = list(names)
    if name.lower() in functions:
        return f"did you mean {name.lower()!r}?"
    instead = _FUNCTIONS.get(name.lower())
    if instead is not None:
        return f"write {instead}"
    return suggestion(name, functions, "docs/kql.md lists those there are")


def column(name: str) -> str | None:
    """Return a hint for a name that is not a column, but a word of another language."""
    return _NAMES.get(name.lower())
