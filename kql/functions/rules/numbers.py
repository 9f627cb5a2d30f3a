"""Rules over numbers: the greatest and the least of several, bins from a point, types by name."""

from collections.abc import Callable

from kql.functions.arguments import Call, one_type
from kql.functions.arithmetic import Operands, arithmetic, convert
from kql.scope import Argument
from kql.typed import Apply, Constant, Expression
from kql.types import NUMBERS, ORDERED


def _extreme_of(call: Call) -> Expression:
    values = one_type(call.name, call.arguments)
    type_ = values[0].type
    if type_ not in ORDERED or type_ == "string":
        call.arguments[0].fail(
            f"{type_} has no greatest value", "it takes numbers, times or timespans"
        )
    template = {"max_of": "greatest", "min_of": "least"}[call.name]
    if type_ != "real":
        return call.apply(template, type_, *values)
    # NaN is passed over as null is; it is the result only where nothing else is there.
    numbers = tuple(Apply("without_nan", (value,), type_) for value in values)
    extreme = Apply(template, numbers, type_, call.offset, call.name)
    return call.apply("coalesce", type_, extreme, *values)


def _bin_at(call: Call) -> Expression:
    value, width, start = call.arguments
    if value.value.type in NUMBERS:
        values = one_type(call.name, call.arguments)
        value, width, start = (
            Argument(convert(v, "long", a.offset, call.name) if v.type == "int" else v, a.offset)
            for v, a in zip(values, call.arguments, strict=True)
        )
    elif width.value.type != "timespan" or start.value.type != value.value.type:
        value.fail(
            f"{call.name} does not take {', '.join(a.value.type for a in call.arguments)}",
            "write bin_at(timestamp, 1d, datetime(2026-01-01)), or three numbers",
        )
    distance = Argument(arithmetic(Operands(value, start, "-", call.offset)), call.offset)
    template = "bin_real" if distance.value.type == "real" else "bin_whole"
    binned = call.apply(template, distance.value.type, distance.value, width.value)
    return arithmetic(Operands(start, Argument(binned, call.offset), "+", call.offset))


def _gettype(call: Call) -> Expression:
    value = call.arguments[0].value
    if value.type == "dynamic":
        return call.apply("dynamic_type", "string", value)
    return Constant(value.type, "string")


RULES: dict[str, Callable[[Call], Expression]] = {
    "extreme_of": _extreme_of,
    "bin_at": _bin_at,
    "gettype": _gettype,
}
