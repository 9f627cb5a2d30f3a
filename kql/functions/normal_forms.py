"""Normal forms of calls: aggregates of dynamic values and texts, groups of patterns."""

from dataclasses import replace

from kql.errors import KqlError
from kql.functions.arithmetic import convert, or_empty
from kql.functions.rules import arrays
from kql.regex import escape, group_count
from kql.typed import Apply, Choice, Constant, Expression

_LISTED_MAX = 1_048_576
_CONDITIONAL = frozenset(
    [
        *("avgif", "avgif_timespan", "maxif", "minif", "stdevif", "sumif", "sumif_real"),
        *("take_anyif", "varianceif", "variancepif"),
    ]
)


def normalized(value: Expression) -> Expression:
    """Turn arguments of aggregates over dynamic values and texts into texts without null."""
    if not isinstance(value, Apply):
        return value
    if value.template in ("dcount", "dcountif"):
        # The accuracy of Kusto's estimate is not needed: the count is exact.
        first, *others = (a for a in value.arguments if not _is_size(a, value))
        if first.type == "dynamic":
            first = convert(first, "string", value.offset, value.source)
        first = or_empty(first) if first.type == "string" else first
        return _of_rows(replace(value, arguments=(first, *others)))
    if value.template in _CONDITIONAL:
        value = _of_rows(value)
    if value.template in ("make_list", "make_set"):
        return _collected(value)
    if value.template == "rate" and len(value.arguments) == 4:
        number, start, time, flags = value.arguments
        recorded = Apply("recorded", (number, flags), "real")
        return replace(value, arguments=(recorded, start, time))
    if value.type == "real" and value.template in ("min", "max"):
        # NaN is the result only where no other number is there.
        return replace(value, template=f"{value.template}_real")
    if value.template == "extract":
        _check_group(value)
    if value.template == "split":
        # Spark splits at a regular expression.
        separator, *places = value.arguments[1:]
        assert isinstance(separator, Constant)
        escaped = Constant(escape(str(separator.value)), "string", "regex")
        parts = replace(value, arguments=(value.arguments[0], separator, escaped))
        return arrays.split_at(parts, places[0]) if places else parts
    return value


def _of_rows(value: Apply) -> Apply:
    """Return an aggregate over the values of those rows for which its condition holds."""
    element, *conditions = value.arguments
    for condition in conditions:
        element = Apply("only_where", (element, condition), element.type)
    return replace(value, template=value.template.replace("if", ""), arguments=(element,))


def _is_size(argument: Expression, call: Apply) -> bool:
    """Return whether an argument is the last one, which says how many values are kept."""
    is_last = argument is call.arguments[-1] and len(call.arguments) > 1
    return is_last and argument.type == "long"


def _collected(value: Apply) -> Apply:
    """Return a list of values; those for which a condition does not hold are null and skipped."""
    element, *conditions = (a for a in value.arguments if not _is_size(a, value))
    if len(value.arguments) > 1 + len(conditions):
        size = value.arguments[-1]
        assert isinstance(size, Constant)
        if not 1 <= int(size.value or 0) <= _LISTED_MAX:
            hint = f"write 1 to {_LISTED_MAX:,}"
            raise KqlError(value.offset, f"a list of {size.value} values is not possible", hint)
        whole = _collected(replace(value, arguments=(element, *conditions)))
        last = Constant(int(size.value or 0) - 1, "long")
        return Apply("array_slice", (whole, Constant(0, "long"), last), "dynamic")
    template = value.template
    if element.type == "string":
        element = or_empty(element)
    elif element.type == "dynamic":
        template = f"{template}_dynamic"
    elif element.type == "real":
        template = f"{template}_real"
    elif element.type == "datetime":
        element = convert(element, "string", 0, value.source)
    if conditions:
        branches = ((conditions[0], element),)
        element = Choice(branches, Constant(None, element.type), element.type)
    return replace(value, template=template, arguments=(element,))


def _check_group(call: Apply) -> None:
    """Refuse a group that a pattern does not have."""
    pattern, group = (a.value for a in call.arguments[:2] if isinstance(a, Constant))
    groups = group_count(str(pattern))
    if not 0 <= int(group or 0) <= groups:
        what = f"the pattern has no group {group}"
        raise KqlError(call.offset, what, f"it has {groups}; 0 stands for all that matches")
