"""Rules over IPv4 addresses, which are whole numbers of 32 bits once they are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kql.errors import KqlError
from kql.functions.arguments import CheckedCall, constant_whole, whole
from kql.functions.arithmetic import convert, text
from kql.functions.rules.texts import constant_list
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression, Logic
from kql.types import KqlType

_BYTE = "25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]"
_ADDRESS = r"\A(B)[.](B)[.](B)[.](B)(?:/(3[0-2]|[12]?[0-9]))?\z".replace("B", _BYTE)
_PATTERN = re.compile(_ADDRESS.replace(r"\z", r"\Z"))
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
RANGES_MAX = 64


@dataclass(frozen=True, slots=True)
class _Address:
    """An address and the number of bits of its network; null if a text is none."""

    number: Expression
    prefix: Expression


def _call(template: str, type_: KqlType, *arguments: Expression) -> Apply:
    return Apply(template, arguments, type_)


def _read(written: str) -> _Address:
    """Return an address that is known before the query runs."""
    match = _PATTERN.match(written)
    if match is None:
        return _Address(whole(None), whole(32))
    number = 0
    for part in match.groups()[:4]:
        number = number * 256 + int(part)
    return _Address(whole(number), whole(int(match[5] or 32)))


def _address(name: str, argument: Argument) -> _Address:
    if isinstance(argument.value, Constant) and argument.value.type == "string":
        return _read(str(argument.value.value))
    if argument.value.type not in ("string", "dynamic"):
        argument.fail(f"an address is a text, this is {argument.value.type}", "write '10.0.0.1'")
    written = text(argument.value, argument.offset, name)
    pattern = Constant(_ADDRESS, "string", "regex")
    number = _call("ipv4_number", "long", written, pattern)
    return _Address(number, _call("ipv4_prefix", "long", written))


def _masked(number: Expression, prefix: Expression) -> Expression:
    """Return the network of an address."""
    if isinstance(prefix, Constant):
        mask: Expression = whole(-(1 << (32 - int(prefix.value or 0))))
    else:
        bits = _call("subtract", "long", whole(32), prefix)
        width = _call("binary_shift_left", "long", whole(1), bits)
        mask = _call("subtract", "long", whole(0), width)
    if isinstance(number, Constant) and isinstance(mask, Constant):
        address = None if number.value is None else int(number.value) & int(mask.value or 0)
        return whole(address)
    return _call("binary_and", "long", number, mask)


def _parse(call: CheckedCall) -> Expression:
    address = _address(call.name, call.arguments[0])
    return _masked(address.number, address.prefix)


def _suffix(call: CheckedCall) -> Expression:
    address = _address(call.name, call.arguments[0])
    is_valid = _call("isnotnull", "bool", address.number)
    return Choice(((is_valid, address.prefix),), whole(None), "long")


def _shortest(prefixes: list[Expression]) -> Expression:
    lengths = [int(p.value or 0) for p in prefixes if isinstance(p, Constant)]
    others = [p for p in prefixes if not isinstance(p, Constant)]
    if not others:
        return whole(min(lengths))
    values = [*others, *([whole(min(lengths))] if lengths else [])]
    return values[0] if len(values) == 1 else _call("least", "long", *values)


def _sides(call: CheckedCall) -> tuple[Expression, Expression]:
    """Return the networks of two addresses by the shortest prefix."""
    a, b = (_address(call.name, argument) for argument in call.arguments[:2])
    prefixes = [a.prefix, b.prefix]
    if len(call.arguments) == 3:
        prefixes.append(_given_prefix(call.name, call.arguments[2]))
    prefix = _shortest(prefixes)
    return _masked(a.number, prefix), _masked(b.number, prefix)


def _given_prefix(name: str, argument: Argument) -> Expression:
    if isinstance(argument.value, Constant):
        return whole(constant_whole(argument, 0, 32))
    if argument.value.type not in ("int", "long"):
        argument.fail(f"a prefix is a whole number, this is {argument.value.type}", "write 24")
    return convert(argument.value, "long", argument.offset, name)


def _compare(call: CheckedCall) -> Expression:
    a, b = _sides(call)
    values = {"lt": -1, "gt": 1, "eq": 0}
    branches = tuple((_call(t, "bool", a, b), whole(value)) for t, value in values.items())
    return Choice(branches, whole(None), "long")


def _same(a: Expression, b: Expression) -> Expression:
    """Return whether two networks are the same; null if one is none."""
    are_valid = Logic("and", tuple(_call("isnotnull", "bool", side) for side in (a, b)))
    is_same = _call("eq", "bool", a, b)
    return Choice(((are_valid, is_same),), Constant(None, "bool"), "bool")


def _is_match(call: CheckedCall) -> Expression:
    return _same(*_sides(call))


def _within(address: _Address, network: _Address) -> Expression:
    prefix = _shortest([address.prefix, network.prefix])
    return _same(_masked(address.number, prefix), _masked(network.number, network.prefix))


def _is_in_range(call: CheckedCall) -> Expression:
    address, network = (_address(call.name, argument) for argument in call.arguments)
    return _within(address, network)


def _is_in_any_range(call: CheckedCall) -> Expression:
    address = _address(call.name, call.arguments[0])
    if len(call.arguments) == 2 and call.arguments[1].value.type == "dynamic":
        networks = [_read(str(each)) for each in constant_list(call.arguments[1])]
    else:
        networks = [_address(call.name, argument) for argument in call.arguments[1:]]
    if not 0 < len(networks) <= RANGES_MAX:
        raise KqlError(call.offset, f"there are {len(networks)} ranges", f"write 1 to {RANGES_MAX}")
    tests = [_within(address, network) for network in networks]
    return tests[0] if len(tests) == 1 else Logic("or", tuple(tests))


def _is_private(call: CheckedCall) -> Expression:
    address = _address(call.name, call.arguments[0])
    return Logic("or", tuple(_within(address, _read(network)) for network in _PRIVATE))


def _format(call: CheckedCall) -> Expression:
    argument = call.arguments[0]
    if argument.value.type in ("int", "long"):
        number = convert(argument.value, "long", argument.offset, call.name)
        address = _Address(number, whole(32))
    else:
        address = _address(call.name, argument)
    prefix = address.prefix
    if len(call.arguments) == 2:
        prefix = whole(constant_whole(call.arguments[1], 0, 32))
    masked = _masked(address.number, prefix)
    pieces: list[Expression] = []
    for shift in (24, 16, 8, 0):
        moved = _call("binary_shift_right", "long", masked, whole(shift))
        byte = _call("binary_and", "long", moved, whole(255))
        dot = Constant(".", "string")
        pieces += [*([dot] if pieces else []), _call("to_string", "string", byte)]
    limits = (_call("ge", "bool", masked, whole(0)), _call("lt", "bool", masked, whole(2**32)))
    shown = _call("strcat", "string", *pieces)
    return Choice(((Logic("and", limits), shown),), Constant("", "string"), "string")


RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "parse_ipv4": _parse,
    "ipv4_netmask_suffix": _suffix,
    "ipv4_compare": _compare,
    "ipv4_is_match": _is_match,
    "ipv4_is_in_range": _is_in_range,
    "ipv4_is_in_any_range": _is_in_any_range,
    "ipv4_is_private": _is_private,
    "format_ipv4": _format,
}
