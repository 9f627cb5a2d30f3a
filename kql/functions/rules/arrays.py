"""Rules over arrays and bags: packing values, parts, sets, texts taken apart."""

from collections.abc import Callable

from kql.errors import KqlError
from kql.functions.arguments import Arguments, constant_text, constant_whole, need, pattern
from kql.functions.arithmetic import convert, or_empty, text
from kql.functions.rules.texts import constant_list
from kql.regex import group_count
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression, Member
from kql.types import NUMBERS, KqlType

ARGUMENTS_MAX = 128
REPETITIONS_MAX = 10_000
_JSON = {
    "bool": "bool_to_json", "int": "long_to_json", "long": "long_to_json", "real": "real_to_json",
    "string": "string_to_json", "dynamic": "dynamic_to_json",
}  # fmt: skip


def as_json(name: str, argument: Argument) -> Expression:
    """Return a value as JSON text: times and timespans as texts, null as null."""
    value = argument.value
    if value.type in _JSON:
        return Apply(_JSON[value.type], (value,), "dynamic", argument.offset, name)
    shown = convert(value, "string", argument.offset, name)
    return Apply("quoted_json", (shown,), "dynamic", argument.offset, name)


def _call(name: str, template: str, type_: KqlType, *arguments: Expression) -> Apply:
    return Apply(template, arguments, type_, 0, name)


def _dynamic(name: str, argument: Argument) -> Expression:
    if argument.value.type != "dynamic":
        argument.fail(f"{name} takes dynamic values, this is {argument.value.type}",
                      "write parse_json(...) or dynamic([...])")  # fmt: skip
    return argument.value


def _whole(name: str, argument: Argument) -> Expression:
    if argument.value.type not in ("int", "long"):
        argument.fail(f"a whole number is needed, this is {argument.value.type}", "use tolong()")
    return convert(argument.value, "long", argument.offset, name)


def _pieces(name: str, opening: str, pieces: list[Expression], closing: str) -> Expression:
    """Return JSON texts between brackets; in groups, since a call has a bounded length."""
    parts: list[Expression] = [Constant(opening, "string")]
    for number, piece in enumerate(pieces):
        parts += [Constant(",", "string"), piece] if number else [piece]
    return _call(name, "strcat", "dynamic", *parts, Constant(closing, "string"))


def pack_array(name: str, arguments: Arguments, offset: int) -> Expression:
    """Return an array of values."""
    need(name, arguments, offset, 1, ARGUMENTS_MAX)
    return _pieces(name, "[", [as_json(name, a) for a in arguments], "]")


def bag_pack(name: str, arguments: Arguments, offset: int) -> Expression:
    """Return a bag of keys and values that follow one another."""
    need(name, arguments, offset, 2, 2 * ARGUMENTS_MAX)
    if len(arguments) % 2:
        raise KqlError(offset, "the last key has no value", f"write {name}('key', value, ...)")
    members: list[Expression] = []
    keys = set()
    for key, value in zip(arguments[::2], arguments[1::2], strict=True):
        if isinstance(key.value, Constant):
            if key.value.value in keys:
                key.fail("this key is named twice", "name each key once")
            keys.add(key.value.value)
        shown = _call(name, "string_to_json", "string", text(key.value, key.offset, name))
        colon = Constant(":", "string")
        members.append(_call(name, "strcat", "string", shown, colon, as_json(name, value)))
    return _pieces(name, "{", members, "}")


def _folded(template: str) -> Callable[[str, Arguments, int], Expression]:
    """Return a rule of two or more arrays or bags, from the first to the last."""

    def rule(name: str, arguments: Arguments, offset: int) -> Expression:
        need(name, arguments, offset, 2, 64)
        result, *rest = (_dynamic(name, a) for a in arguments)
        for value in rest:
            result = _call(name, template, "dynamic", result, value)
        return result

    return rule


def _slice(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    start, end = (_whole(name, a) for a in arguments[1:])
    return _call(name, "array_slice", "dynamic", _dynamic(name, arguments[0]), start, end)


def _one(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    type_: KqlType = "real" if name == "array_sum" else "dynamic"
    return _call(name, name, type_, _dynamic(name, arguments[0]))


def _index_of(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    array, value = _dynamic(name, arguments[0]), arguments[1]
    if value.value.type in NUMBERS:
        number = convert(value.value, "real", value.offset, name)
        position = _call(name, "array_index_of_number", "long", array, number)
        is_nan = _call(name, "isnan", "bool", number)
        place: Expression = Choice(((is_nan, Constant(-1, "long")),), position, "long")
    else:
        place = _call(name, "array_index_of", "long", array, as_json(name, value))
    if name == "array_index_of":
        return place
    return _call(name, "ge", "bool", place, Constant(0, "long"))


def _iff(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    values = (as_json(name, a) for a in arguments[1:])
    return _call(name, "array_iff", "dynamic", _dynamic(name, arguments[0]), *values)


def _turn(name: str, arguments: Arguments, offset: int) -> Expression:
    is_shift = name.startswith("array_shift")
    need(name, arguments, offset, 2, 3 if is_shift else 2)
    array, count = _dynamic(name, arguments[0]), _whole(name, arguments[1])
    if name.endswith("right"):
        count = _call(name, "negate", "long", count)
    if not is_shift:
        return _call(name, "array_rotate", "dynamic", array, count)
    fill: Expression = Constant("null", "string")
    if len(arguments) == 3:
        fill = as_json(name, arguments[2])
    return _call(name, "array_shift", "dynamic", array, count, fill)


def _split(name: str, arguments: Arguments, offset: int) -> Expression:
    """Return the parts of an array between places that are known beforehand."""
    need(name, arguments, offset, 2)
    array = _dynamic(name, arguments[0])
    if arguments[1].value.type in ("int", "long"):
        places: list[int] = [constant_whole(arguments[1], -(10**9), 10**9)]
    else:
        given = constant_list(arguments[1])
        places = [p for p in given if isinstance(p, int) and not isinstance(p, bool)]
        if len(places) != len(given) or not 0 < len(places) <= ARGUMENTS_MAX:
            arguments[1].fail("the places are whole numbers", "write dynamic([1, 3])")
    parts: list[Expression] = []
    for start, end in zip([0, *places], [*places, None], strict=True):
        if end == 0:
            parts.append(Constant("[]", "string"))
            continue
        low, high = Constant(start, "long"), Constant(-1 if end is None else end - 1, "long")
        parts.append(_call(name, "array_slice", "dynamic", array, low, high))
    joined = _pieces(name, "[", parts, "]")
    is_array = _call(name, "isnotnull", "bool", _call(name, "array_length", "long", array))
    return Choice(((is_array, joined),), Constant(None, "dynamic"), "dynamic")


def _repeat(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    count = Constant(constant_whole(arguments[1], 0, REPETITIONS_MAX), "long")
    return _call(name, "array_repeat", "dynamic", as_json(name, arguments[0]), count)


def _strcat_array(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    delimiter = text(arguments[1].value, arguments[1].offset, name)
    return _call(name, "strcat_array", "string", _dynamic(name, arguments[0]), delimiter)


def _bag_key(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3 if name == "bag_set_key" else 2)
    bag, key = _dynamic(name, arguments[0]), arguments[1]
    if name == "bag_set_key":
        return _call(name, "bag_merge", "dynamic", bag_pack(name, arguments[1:], offset), bag)
    if name == "bag_remove_keys":
        return _call(name, name, "dynamic", bag, _dynamic(name, key))
    return _call(name, name, "bool", bag, or_empty(convert(key.value, "string", key.offset, name)))


def _extract_all(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 3)
    written, subject = constant_text(arguments[0]), arguments[-1]
    compiled = pattern(written, arguments[0])
    count = group_count(written)
    if count == 0:
        arguments[0].fail("the pattern has no group", "put brackets around what is extracted")
    groups: list[object] = list(range(1, count + 1))
    if len(arguments) == 3:
        groups = constant_list(arguments[1])
    for group in groups:
        if not isinstance(group, int) or isinstance(group, bool) or not 0 <= group <= count:
            arguments[1].fail(f"the pattern has no group {group}", f"it has {count}, by number")
    searched = text(subject.value, subject.offset, name)
    columns = [
        _call(name, "extract_all", "dynamic", compiled, searched, Constant(int(str(g)), "long"))
        for g in groups
    ]
    if not columns:
        arguments[1].fail("there are no groups", "write dynamic([1])")
    values = columns[0] if len(columns) == 1 else _call(name, "transposed", "dynamic", *columns)
    matches = _call(name, "match", "bool", searched, compiled)
    return Choice(((matches, values),), Constant(None, "dynamic"), "dynamic")


def _parse_text(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    subject = text(arguments[0].value, arguments[0].offset, name)
    if name == "parse_csv":
        return _call(name, "parse_csv", "dynamic", subject)
    if name == "parse_urlquery":
        parameters = _call(name, "query_parameters", "string", subject)
        return _bag(name, {}, ("Query Parameters", parameters))
    parts = _URL if name == "parse_url" else _PATH
    values = {key: _group(name, subject, regex) for key, regex in parts.items()}
    if name == "parse_path":
        return _bag(name, values)
    query = _group(name, subject, rf"{_SCHEME}[^?#]*[?]([^#]*)")
    parameters = _call(name, "query_parameters", "string", query)
    return _bag(name, values, ("Query Parameters", parameters))


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


def _group(name: str, subject: Expression, regex: str) -> Expression:
    compiled = Constant(regex, "string", "regex")
    return _call(name, "extract", "string", compiled, Constant(1, "long"), subject)


def _bag(name: str, texts: dict[str, Expression], *others: tuple[str, Expression]) -> Expression:
    members = [(key, _call(name, "string_to_json", "string", t)) for key, t in texts.items()]
    shown: list[Expression] = [
        _call(name, "strcat", "string", Constant(f'"{key}":', "string"), value)
        for key, value in (*members, *others)
    ]
    return _pieces(name, "{", shown, "}")


def split_at(value: Apply, place: Expression) -> Expression:
    """Return the array of one part of a split text; an empty one if there is no such part."""
    assert isinstance(place, Constant)
    number = int(place.value or 0)
    if number < 0:
        raise KqlError(value.offset, f"there is no part {number}", "parts are counted from 0 on")
    part = Member(value, (number,))
    shown = _call("split", "strcat", "dynamic", Constant("[", "string"), part,
                  Constant("]", "string"))  # fmt: skip
    is_absent = _call("split", "isnull", "bool", part)
    return Choice(((is_absent, Constant("[]", "dynamic")),), shown, "dynamic")


RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "pack_array": pack_array,
    "bag_pack": bag_pack,
    "array_concat": _folded("array_concat"),
    "set_union": _folded("set_union"),
    "set_intersect": _folded("set_intersect"),
    "set_difference": _folded("set_difference"),
    "bag_merge": _folded("bag_merge"),
    "array_slice": _slice,
    "of_array": _one,
    "array_index_of": _index_of,
    "array_iff": _iff,
    "array_turn": _turn,
    "array_split": _split,
    "repeat": _repeat,
    "strcat_array": _strcat_array,
    "bag_key": _bag_key,
    "extract_all": _extract_all,
    "parse_text": _parse_text,
}
