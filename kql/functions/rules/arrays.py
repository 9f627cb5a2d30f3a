"""Rules over arrays and bags: packing values, parts, sets, texts taken apart."""

from collections.abc import Callable

from kql.errors import KqlError
from kql.functions.arguments import CheckedCall, as_json, constant_text, constant_whole, pattern
from kql.functions.arithmetic import convert, text
from kql.functions.rules.texts import constant_list
from kql.regex import group_count
from kql.typed import Apply, Choice, Constant, Expression, Member
from kql.types import NUMBERS

PLACES_MAX = 128
REPETITIONS_MAX = 10_000


def _pieces(call: CheckedCall, opening: str, pieces: list[Expression], closing: str) -> Expression:
    """Return JSON texts between brackets; in groups, since a call has a bounded length."""
    parts: list[Expression] = [Constant(opening, "string")]
    for number, piece in enumerate(pieces):
        parts += [Constant(",", "string"), piece] if number else [piece]
    return call.apply("strcat", "dynamic", *parts, Constant(closing, "string"))


def pack_array(call: CheckedCall) -> Expression:
    """Return an array of values in JSON."""
    return _pieces(call, "[", [a.value for a in call.arguments], "]")


def bag_pack(call: CheckedCall) -> Expression:
    """Return a bag of keys and values that follow one another."""
    if len(call.arguments) % 2:
        raise KqlError(
            call.offset, "the last key has no value", f"write {call.name}('key', value, ...)"
        )
    members: list[Expression] = []
    keys = set()
    for key, value in zip(call.arguments[::2], call.arguments[1::2], strict=True):
        if isinstance(key.value, Constant):
            if key.value.value in keys:
                key.fail("this key is named twice", "name each key once")
            keys.add(key.value.value)
        shown = call.apply("string_to_json", "string", text(key.value, key.offset, call.name))
        colon = Constant(":", "string")
        members.append(call.apply("strcat", "string", shown, colon, as_json(call.name, value)))
    return _pieces(call, "{", members, "}")


def _folded(call: CheckedCall) -> Expression:
    """Join two or more arrays or bags, from the first to the last."""
    result, *others = (a.value for a in call.arguments)
    for value in others:
        result = call.apply(call.name, "dynamic", result, value)
    return result


def _index_of(call: CheckedCall) -> Expression:
    array, value = call.arguments[0].value, call.arguments[1]
    if value.value.type in NUMBERS:
        number = convert(value.value, "real", value.offset, call.name)
        position = call.apply("array_index_of_number", "long", array, number)
        is_nan = call.apply("isnan", "bool", number)
        index: Expression = Choice(((is_nan, Constant(-1, "long")),), position, "long")
    else:
        index = call.apply("array_index_of", "long", array, as_json(call.name, value))
    if call.name == "array_index_of":
        return index
    return call.apply("ge", "bool", index, Constant(0, "long"))


def _turn(call: CheckedCall) -> Expression:
    is_shift = call.name.startswith("array_shift")
    array, count, *fill = (a.value for a in call.arguments)
    if call.name.endswith("right"):
        count = call.apply("negate", "long", count)
    if not is_shift:
        return call.apply("array_rotate", "dynamic", array, count)
    filled = fill[0] if fill else Constant("null", "string")
    return call.apply("array_shift", "dynamic", array, count, filled)


def _split(call: CheckedCall) -> Expression:
    """Return the parts of an array between places that are known beforehand."""
    array = call.arguments[0].value
    if call.arguments[1].value.type in ("int", "long"):
        places: list[int] = [constant_whole(call.arguments[1], -(10**9), 10**9)]
    else:
        given = constant_list(call.arguments[1])
        places = [p for p in given if isinstance(p, int) and not isinstance(p, bool)]
        if len(places) != len(given) or not 0 < len(places) <= PLACES_MAX:
            call.arguments[1].fail("the places are whole numbers", "write dynamic([1, 3])")
    parts: list[Expression] = []
    for start, end in zip([0, *places], [*places, None], strict=True):
        if end == 0:
            parts.append(Constant("[]", "string"))
            continue
        low, high = Constant(start, "long"), Constant(-1 if end is None else end - 1, "long")
        parts.append(call.apply("array_slice", "dynamic", array, low, high))
    joined = _pieces(call, "[", parts, "]")
    is_array = call.apply("isnotnull", "bool", call.apply("array_length", "long", array))
    return Choice(((is_array, joined),), Constant(None, "dynamic"), "dynamic")


def _repeat(call: CheckedCall) -> Expression:
    count = Constant(constant_whole(call.arguments[1], 0, REPETITIONS_MAX), "long")
    return call.apply("array_repeat", "dynamic", call.arguments[0].value, count)


def _bag_set_key(call: CheckedCall) -> Expression:
    member = bag_pack(CheckedCall(call.name, call.arguments[1:], call.offset))
    return call.apply("bag_merge", "dynamic", member, call.arguments[0].value)


def _extract_all(call: CheckedCall) -> Expression:
    written, subject = constant_text(call.arguments[0]), call.arguments[-1]
    compiled = pattern(written, call.arguments[0])
    count = group_count(written)
    if count == 0:
        call.arguments[0].fail("the pattern has no group", "put brackets around what is extracted")
    groups: list[object] = list(range(1, count + 1))
    if len(call.arguments) == 3:
        groups = constant_list(call.arguments[1])
    for group in groups:
        if not isinstance(group, int) or isinstance(group, bool) or not 0 <= group <= count:
            call.arguments[1].fail(
                f"the pattern has no group {group}", f"it has {count}, by number"
            )
    searched = text(subject.value, subject.offset, call.name)
    columns = [
        call.apply("extract_all", "dynamic", compiled, searched, Constant(int(str(g)), "long"))
        for g in groups
    ]
    if not columns:
        call.arguments[1].fail("there are no groups", "write dynamic([1])")
    values = columns[0] if len(columns) == 1 else call.apply("transposed", "dynamic", *columns)
    matches = call.apply("match", "bool", searched, compiled)
    return Choice(((matches, values),), Constant(None, "dynamic"), "dynamic")


def _parse_text(call: CheckedCall) -> Expression:
    subject = call.arguments[0].value
    if call.name == "parse_urlquery":
        parameters = call.apply("query_parameters", "string", subject)
        return _bag(call, {}, ("Query Parameters", parameters))
    parts = _URL if call.name == "parse_url" else _PATH
    values = {key: _group(call, subject, regex) for key, regex in parts.items()}
    if call.name == "parse_path":
        return _bag(call, values)
    query = _group(call, subject, rf"{_SCHEME}[^?#]*[?]([^#]*)")
    parameters = call.apply("query_parameters", "string", query)
    return _bag(call, values, ("Query Parameters", parameters))


_SCHEME = r"\A(?:[A-Za-z][A-Za-z0-9+.-]*://)?"
_USER = rf"{_SCHEME}(?:[^/?#@]*@)?"
_URL = {
    "Scheme": r"\A([A-Za-z][A-Za-z0-9+.-]*)://",
    "Host": rf"{_USER}(\[[^\]]*\]|[^/?#:]*)",
    "Port": rf"{_USER}(?:\[[^\]]*\]|[^/?#:]*):([0-9]+)",
    "Path": rf"{_USER}[^/?#]*/([^?#]*)",
    "Username": rf"{_SCHEME}([^/?#@:]*)(?::[^/?#@]*)?@",
    "Password": rf"{_SCHEME}[^/?#@:]*:([^/?#@]*)@",
    "Fragment": r"#(.*)",
}
# The drive, the folders, and a name that a stream may follow.
_ROOT = r"\A(?:[A-Za-z]+://)?(?:[A-Za-z]:)?"
_PATH = {
    "Scheme": r"\A([A-Za-z]+)://",
    "RootPath": r"\A(?:[A-Za-z]+://)?([A-Za-z]:)",
    "DirectoryPath": r"\A(?:[A-Za-z]+://)?(.*)[/\\]",
    "DirectoryName": r"([^/\\:]*)[/\\][^/\\]*\z",
    "Filename": rf"{_ROOT}(?:.*[/\\])?([^/\\:]*)",
    "Extension": r"[.]([^./\\:]*)(?::[^/\\:]*)?\z",
    "AlternateDataStreamName": r"[^/\\:]{2,}:([^/\\:]*)\z",
}


def _group(call: CheckedCall, subject: Expression, regex: str) -> Expression:
    compiled = Constant(regex, "string", "regex")
    return call.apply("extract", "string", compiled, Constant(1, "long"), subject)


def _bag(
    call: CheckedCall, texts: dict[str, Expression], *others: tuple[str, Expression]
) -> Expression:
    members = [(key, call.apply("string_to_json", "string", t)) for key, t in texts.items()]
    shown: list[Expression] = [
        call.apply("strcat", "string", Constant(f'"{key}":', "string"), value)
        for key, value in (*members, *others)
    ]
    return _pieces(call, "{", shown, "}")


def split_at(value: Apply, index: Expression) -> Expression:
    """Return the array of one part of a split text; an empty one if there is no such part."""
    assert isinstance(index, Constant)
    number = int(index.value or 0)
    if number < 0:
        raise KqlError(value.offset, f"there is no part {number}", "parts are counted from 0 on")
    part = Member(value, (number,))
    call = CheckedCall("split", [])
    opening, closing = Constant("[", "string"), Constant("]", "string")
    shown = call.apply("strcat", "dynamic", opening, part, closing)
    is_absent = call.apply("isnull", "bool", part)
    return Choice(((is_absent, Constant("[]", "dynamic")),), shown, "dynamic")


RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "pack_array": pack_array,
    "bag_pack": bag_pack,
    "bag_set_key": _bag_set_key,
    "folded": _folded,
    "array_index_of": _index_of,
    "array_turn": _turn,
    "array_split": _split,
    "repeat": _repeat,
    "extract_all": _extract_all,
    "parse_text": _parse_text,
}
