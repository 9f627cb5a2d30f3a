"""Names of columns that a query does not name, as Kusto gives them."""

from segplane.kql import syntax

# Calls that keep the name of their first argument.
_TRANSPARENT = frozenset(
    [
        *("tostring", "toint", "tolong", "todouble", "toreal", "tobool", "todatetime", "toguid"),
        *("bin", "floor", "round", "abs", "sqrt", "startofday", "format_datetime"),
        *("split", "parse_json", "todynamic", "take_any", "take_anyif"),
    ]
)
# Calls that put a word before it.
_PREFIXES = {
    **{
        name: name
        for name in (
            *("strlen", "any", "count", "countif", "dcount", "dcountif", "count_distinct"),
            *("sum", "sumif", "avg", "avgif", "min", "minif", "max", "maxif", "stdev", "stdevif"),
        )
    },
    "arg_max": "max",
    "arg_min": "min",
    "make_list": "list",
    "make_set": "set",
}


def implied_name(expression: syntax.Expression) -> str:
    """Return the name that an expression gives its column, or ''."""
    match expression:
        case syntax.Name():
            return expression.name
        case syntax.Path():
            base = implied_name(expression.base)
            return f"{base}_{expression.key}" if base else str(expression.key)
        case syntax.Call():
            first = implied_name(expression.arguments[0]) if expression.arguments else ""
            if expression.name == "percentile" and len(expression.arguments) == 2:
                return f"percentile_{first}_{rank_name(expression.arguments[1])}"
            prefix = _PREFIXES.get(expression.name)
            if prefix is not None:
                return f"{prefix}_{first}"
            return first if expression.name in _TRANSPARENT else ""
        case _:
            return ""


def rank_name(rank: syntax.Expression) -> str:
    """Return how a rank of a percentile is named."""
    return str(rank.value).replace(".", "_") if isinstance(rank, syntax.Literal) else ""
