"""AnyValue and attribute lists into JSON text, column by column.

Key order and duplicate keys stay as sent. Whole numbers print as such, doubles always with a point
or an exponent, NaN and infinities as strings, bytes as base64, an unset value as null. Nested
values cost one more pass a level, not a call per record.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

import pyarrow as pa

from segments.otlp import wire
from segments.otlp.arrow import (
    NO_TEXT,
    Array,
    dictionary,
    field,
    hex_ids,
    make,
    pc,
    regroup,
    spread,
    struct,
)

# The official classes take messages nested 100 deep, which is 48 lists within lists in a log body,
# and fewer elsewhere. Deeper messages, up to here, are read all the same.
NESTING_MAX = 48
# An event of 2 bytes is 75 of JSON and takes 350 while it is made. No sender has so many at once: a
# batch is then decoded in halves, and one payload with so many is refused.
ELEMENTS_MAX = 1_048_576

_MUST_ESCAPE = r'["\\\x00-\x1f]'
_escape = json.JSONEncoder(ensure_ascii=False).encode
# The members of structs that JSON has, each with what renders it, in the order of JSON.
Members: TypeAlias = Mapping[str, Callable[[Array], Array]]
_KINDS = ("string", "bool", "int", "double", "bytes", "array", "kvlist", "empty")


def with_coded_keys(lists: Array) -> Array:
    """Lists of KeyValue with a dictionary of their keys; an empty list in place of null."""
    entries = lists.flatten()
    keys = field(entries, "key").dictionary_encode()
    return regroup(lists, struct({"key": keys, "value": field(entries, "value")}))


def attributes(lists: Array, depth: int = 0) -> Array:
    """Lists of KeyValue as JSON objects; "{}" for an empty or null list."""
    entries = lists.flatten()
    if len(entries) == 0:
        return make.repeat("{}", len(lists))
    keys = field(entries, "key").dictionary_encode()
    names = escaped(keys.dictionary)
    members = _members(field(entries, "value"), depth)
    texts = members[0]
    values = pc.coalesce(escaped(texts), *members[1:], make.scalar("null"))
    # Keys with and without the opening quote of a string value: one concatenation less.
    prefixes = make.concat_arrays([_joined('"', names, '":'), _joined('"', names, '":"')])
    is_text = pc.is_valid(texts).cast(pa.int32())
    chosen = pc.add(keys.indices, pc.multiply(is_text, len(names)))
    suffixes = make.array(["", '"']).take(is_text)
    return braced(regroup(lists, _joined(prefixes.take(chosen), values, suffixes)), "{", "}")


def values(anys: Array, depth: int = 0) -> Array:
    """AnyValue structs as JSON text, "null" where unset."""
    members = _members(anys, depth)
    return pc.coalesce(quoted(members[0]), *members[1:], make.scalar("null"))


def bodies(anys: Array) -> tuple[Array, Array]:
    """AnyValue structs as (text, kind): strings as they are, everything else as JSON.

    Both are null if there is no value message; the text alone if the message is empty.
    """
    members = _members(anys, 0)
    texts = pc.coalesce(*members)
    kind = make.scalar(len(_KINDS) - 1, pa.int32())
    for code, name in reversed(list(enumerate(_KINDS[:-1]))):
        kind = pc.if_else(_is_set(anys, name), make.scalar(code, pa.int32()), kind)
    kind = pc.if_else(pc.is_valid(anys), kind, make.scalar(None, pa.int32()))
    return texts, dictionary(kind, make.array(_KINDS))


def objects(lists: Array, members: Members) -> Array:
    """Lists of structs as JSON arrays of objects; null for an empty or null list.

    A member that renders null is omitted. Raises UndecodableSlice for too many elements.
    """
    structs = lists.flatten()
    if len(structs) == 0:
        return make.nulls(len(lists), pa.string())
    if len(structs) > ELEMENTS_MAX:
        raise wire.UndecodableSlice(f"more than {ELEMENTS_MAX} events, links or exemplars")
    parts = [_member(key, render(field(structs, key))) for key, render in members.items()]
    return _filled_lists(lists, _joined("{", pc.utf8_ltrim(_joined(*parts), ","), "}"))


def whole(numbers: Array) -> Array:
    """Whole numbers, or truth values, as JSON."""
    return pc.cast(numbers, pa.string())


def ids(values: Array) -> Array:
    """Ids as hex in JSON strings, "" if empty."""
    return _joined('"', pc.fill_null(hex_ids(values), ""), '"')


def texts(lists: Array) -> Array:
    """Lists of strings as JSON."""
    return braced(regroup(lists, quoted(lists.flatten())), "[", "]")


def braced(lists: Array, opening: str, closing: str) -> Array:
    """Lists of JSON texts as one text each."""
    return _joined(opening, pc.binary_join(lists, ","), closing)


def quoted(texts: Array) -> Array:
    """Strings as JSON strings; null stays null."""
    return _joined('"', escaped(texts), '"')


def escaped(texts: Array) -> Array:
    """Strings with what JSON forbids inside quotes escaped."""
    must = pc.fill_null(pc.match_substring_regex(texts, _MUST_ESCAPE), False)
    if not pc.any(must).as_py():
        return texts
    fixed = make.array(
        [_escape(text)[1:-1] for text in texts.filter(must).to_pylist()], pa.string()
    )
    return pc.coalesce(spread(must, make.array(fixed, pa.string())), texts)


def doubles(numbers: Array) -> Array:
    """Doubles as JSON, in the fewest digits that read back the same."""
    texts = pc.cast(numbers, pa.string())
    is_whole = pc.match_substring_regex(texts, r"^-?\d+$")
    texts = pc.if_else(is_whole, _joined(texts, ".0"), texts)
    for number, name in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
        texts = pc.if_else(pc.equal(texts, number), f'"{name}"', texts)
    return texts


def _members(anys: Array, depth: int) -> list[Array]:
    """Plain strings, then any other member that is set, as JSON text."""
    if depth > NESTING_MAX:
        raise wire.UndecodableSlice(f"values are nested deeper than {NESTING_MAX}")
    arrays, kvlists = field(anys, "array_value"), field(anys, "kvlist_value")
    array, kvlist = _single(arrays), _single(kvlists)
    plain = [field(anys, f"{name}_value") for name in ("string", "bool", "int", "double", "bytes")]
    wire.refuse_two_members([*plain, array, kvlist, field(anys, "string_value_strindex")])
    out = [plain[0]]
    renders: list[tuple[Array, Callable[[Array], Array]]] = [
        (plain[1], whole),
        (plain[2], whole),
        (plain[3], doubles),
        (plain[4], _base64),
        (array, lambda a: _array_texts(a, depth + 1)),
        (kvlist, lambda a: attributes(wire.kvlist_values(a), depth + 1)),
    ]
    for member, render in renders:
        if member.null_count == len(member):
            continue
        if member.null_count == 0:
            out.append(render(member))
        else:
            is_set = pc.is_valid(member)
            out.append(spread(is_set, render(member.filter(is_set))))
    return out


def _single(lists: Array) -> Array:
    """The one element of each list, null if empty."""
    flat = lists.flatten()
    if len(flat) == 0:
        return make.nulls(len(lists), pa.binary())
    count = pc.fill_null(pc.list_value_length(lists), 0)
    if pc.max(count).as_py() > 1:
        raise wire.UndecodableSlice("a nested value occurs twice")
    return spread(pc.equal(count, 1), flat)


def _array_texts(encoded: Array, depth: int) -> Array:
    lists = wire.array_values(encoded)
    return braced(regroup(lists, values(lists.flatten(), depth)), "[", "]")


def _base64(raws: Array) -> Array:
    return make.array(
        [f'"{base64.b64encode(raw).decode()}"' for raw in raws.to_pylist()], pa.string()
    )


def _is_set(anys: Array, kind: str) -> Array:
    member = field(anys, f"{kind}_value")
    if pa.types.is_list(member.type):
        return pc.fill_null(pc.greater(pc.list_value_length(member), 0), False)
    return pc.is_valid(member)


def _member(key: str, texts: Array) -> Array:
    return pc.fill_null(_joined(f',"{key}":', texts), "")


def _filled_lists(lists: Array, texts: Array) -> Array:
    has_any = pc.greater(pc.fill_null(pc.list_value_length(lists), 0), 0)
    return pc.if_else(has_any, braced(regroup(lists, texts), "[", "]"), NO_TEXT)


def _joined(*parts: Array | str) -> Array:
    return pc.binary_join_element_wise(*parts, "")
