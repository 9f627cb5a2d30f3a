"""Contexts of resources: JSON objects, and the members of them that lists are filtered by."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

CONTEXT_BYTES_MAX = 65_536
MEMBERS_MAX = 1_000
LEVELS_MAX = 32
KEY_BYTES_MAX = 63
VALUE_BYTES_MAX = 256


class _Number(str):
    """A number as it is written, so that none is rounded."""


def members(context: str | None) -> dict[str, str]:
    """The top-level members that lists are filtered by: texts, numbers as written, booleans.

    Keys and values that are longer than those of filters are omitted, and so is what a text of
    Postgres cannot hold.
    """
    parsed = {} if context is None else parse(context)
    texts = {key: "true" if value is True else value for key, value in parsed.items()}
    texts = {key: "false" if value is False else value for key, value in texts.items()}
    return {
        key: str(value)
        for key, value in texts.items()
        if isinstance(value, str)
        and key
        and _fits(key, KEY_BYTES_MAX)
        and _fits(value, VALUE_BYTES_MAX)
    }


def parse(context: str) -> Mapping[str, Any]:
    """The object that a context is, its numbers as texts. Raises ValueError with the reason."""
    size = len(context.encode())
    if size > CONTEXT_BYTES_MAX:
        raise ValueError(f"has {size} bytes, more than {CONTEXT_BYTES_MAX}")
    try:
        value = json.loads(
            context,
            object_pairs_hook=_object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError(f"is nested more than {LEVELS_MAX} levels") from None
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    if len(value) > MEMBERS_MAX:
        raise ValueError(f"has {len(value)} members, more than {MEMBERS_MAX}")
    if _levels(value) > LEVELS_MAX:
        raise ValueError(f"is nested {_levels(value)} levels, more than {LEVELS_MAX}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("has a key twice in one object")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"holds {name}, which is not JSON")


def _levels(value: dict[str, Any]) -> int:
    """The levels of objects and lists, the outermost counted."""
    levels = 0
    inner: list[dict[str, Any] | list[Any]] = [value]
    while inner:
        levels += 1
        inner = [part for each in inner for part in _parts(each) if isinstance(part, dict | list)]
    return levels


def _parts(value: Any) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value


def _fits(text: str, bytes_max: int) -> bool:
    """True for a text that a row can hold: neither too long, nor with NUL or half a character."""
    try:
        return len(text.encode()) <= bytes_max and "\0" not in text
    except UnicodeEncodeError:
        return False
