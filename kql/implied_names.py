"""Names of columns that their expressions imply, as Kusto gives them."""

from kql.syntax import tree as syntax

# Calls that keep the name of their first argument.
_TRANSPARENT = frozenset(
    [
        *("tostring", "toint", "tolong", "todouble", "toreal", "tobool", "todatetime", "toguid"),
        *("bin", "floor", "round", "abs", "sqrt", "startofday", "format_datetime"),
        *("split", "parse_json", "todynamic", "take_any", "take_anyif", "pow", "exp", "exp2"),
        *("log", "log2", "log10", "exp10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
        *("ceiling", "tohex", "totimespan", "format_timespan", "bin_at", "parse_csv"),
        *("binary_and", "binary_or", "binary_xor", "binary_not", "binary_shift_left"),
        *("binary_shift_right", "binary_all_and", "binary_all_or", "binary_all_xor"),
        *("series_fill_const", "series_fill_forward", "series_fill_backward"),
        *("series_fill_linear", "make_datetime", "make_timespan"),
    ]
)
# Calls that put a word before it.
_PREFIXES = {
    **{
        name: name
        for name in (
            *("strlen", "any", "count", "countif", "dcount", "dcountif", "count_distinct"),
            *("sum", "sumif", "avg", "avgif", "min", "minif", "max", "maxif", "stdev", "stdevif"),
            *("stdevp", "variance", "varianceif", "variancep", "variancepif", "count_distinctif"),
        )
    },
    "arg_max": "max",
    "arg_min": "min",
    "make_list": "list",
    "make_set": "set",
    "make_list_if": "list",
    "make_set_if": "set",
    "make_list_with_nulls": "list",
    "make_bag": "bag",
    "make_bag_if": "bag",
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


class ItemNames:
    """Names of an operator's items: their own, those that expressions imply, or numbers."""

    def __init__(self, nameless: int = 0) -> None:
        self._nameless = nameless

    def of(self, item: syntax.Item) -> str:
        """Return the name of the next item."""
        name = item.name or implied_name(item.expression)
        return name or self.numbered()

    def numbered(self) -> str:
        """Return the name of an item without one."""
        self._nameless += 1
        return f"Column{self._nameless}"


def rank_name(rank: syntax.Expression) -> str:
    """Return how a rank of a percentile is named."""
    return str(rank.value).replace(".", "_") if isinstance(rank, syntax.Literal) else ""
