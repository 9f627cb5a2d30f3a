"""Messages of meta as JSON: members have the names of fields, absent values are null.

enumeration     its word in lower case, without the prefix: KQL_TYPE_LONG is "long"
*_nanos         a time in RFC 3339, without the suffix: created_at_nanos is created_at
Duration        seconds, such as "3600s"
64-bit number   a number
context         the JSON object that the text holds, with each number as it is written
"""

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management import times
from segplane.gateway.management.members import (
    BOUNDS,
    DURATION,
    fields_of,
    is_context,
    is_map,
    is_required,
    is_time,
    member_of,
    members_of,
    words,
    words_of,
)

Json = dict[str, object]
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_REALS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)


@dataclass(frozen=True, slots=True)
class Exact:
    """JSON that is kept as it is written: a number with a fraction, or a whole object."""

    text: str


def parse(text: bytes) -> object:
    """Return JSON, in which no object has a member twice. Raises ValueError, RecursionError."""
    content: object = json.loads(
        text, parse_float=Exact, parse_constant=_refuse, object_pairs_hook=_distinct
    )
    return content


def json_text(content: object, *, is_ascii: bool = True) -> str:
    """Return JSON as text."""
    marker, texts = uuid4().hex, list[str]()

    def mark(exact: Exact) -> str:
        texts.append(exact.text)
        return f"{marker}{len(texts) - 1}"

    text = json.dumps(content, ensure_ascii=is_ascii, separators=(",", ":"), default=mark)
    return re.sub(f'"{marker}([0-9]+)"', lambda match: texts[int(match[1])], text)


def shown(message: Message) -> Json:
    """Return a message as JSON."""
    content: Json = {}
    for field in fields_of(cast(Descriptor, message.DESCRIPTOR)):
        value = getattr(message, field.name)
        if field.name == "authors":
            # The message's own time wins.
            content = {**shown(value), **content}
        elif field.has_presence and not message.HasField(field.name):
            content[member_of(field)] = None
        elif is_map(field):
            content[member_of(field)] = dict(value)
        elif field.is_repeated:
            content[member_of(field)] = [_shown_value(field, item) for item in value]
        else:
            content[member_of(field)] = _shown_value(field, value)
    return content


def fill(message: Message, content: object, path: str = "", *, clears: bool = False) -> None:
    """Set the fields of a message to the members of an object.

    With `clears`, null empties what a change would keep otherwise. Raises QueryRefusal with the
    path of a member that is not known or has another type.
    """
    if not isinstance(content, dict):
        raise QueryRefusal(f"{path.rstrip('.') or 'the body'} is not an object")
    fields = members_of(message.DESCRIPTOR)
    for name, value in content.items():
        if name not in fields:
            raise QueryRefusal(
                f"{(path + name)[:160]!r} is not known: expected {', '.join(fields) or 'nothing'}"
            )
        set_member(message, fields[name], value, path + name, clears=clears)
    for name, field in fields.items():
        if is_required(field) and content.get(name) is None:
            raise QueryRefusal(f"{path}{name} is missing: expected {', '.join(words_of(field))}")


def _shown_value(field: FieldDescriptor, value: Any) -> object:
    if field.message_type is not None:
        is_length = field.message_type.full_name == DURATION
        return value.ToJsonString() if is_length else shown(value)
    if field.enum_type is not None:
        return words(field.enum_type).get(value)
    if is_time(field):
        return times.text_of(value) if value or field.name in BOUNDS else None
    if is_context(field) and value:
        return Exact(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value == "" else value


def set_member(
    message: Message, field: FieldDescriptor, value: object, path: str, *, clears: bool
) -> None:
    """Set a field to the value of its member. Raises QueryRefusal as `fill` does."""
    if value is None:
        if clears and field.message_type is not None and not field.is_repeated:
            getattr(message, field.name).SetInParent()
        elif clears and field.has_presence:
            setattr(message, field.name, field.default_value)
    elif is_map(field):
        if not isinstance(value, dict):
            raise QueryRefusal(f"{path} is not an object")
        texts = {key: _text(item, f"{path}.{key}"[:160]) for key, item in value.items()}
        getattr(message, field.name).update(texts)
    elif field.is_repeated:
        _extend(message, field, value, path, clears=clears)
    elif field.message_type is None:
        setattr(message, field.name, _scalar(field, value, path))
    else:
        _set_message(getattr(message, field.name), value, path, clears=clears)


def _extend(
    message: Message, field: FieldDescriptor, value: object, path: str, *, clears: bool
) -> None:
    if not isinstance(value, list):
        raise QueryRefusal(f"{path} is not a list")
    items = getattr(message, field.name)
    for index, item in enumerate(value):
        if field.message_type is None:
            items.append(_scalar(field, item, f"{path}[{index}]"))
        else:
            _set_message(items.add(), item, f"{path}[{index}]", clears=clears)


def _set_message(message: Message, value: object, path: str, *, clears: bool) -> None:
    message.SetInParent()
    if message.DESCRIPTOR.full_name != DURATION:
        fill(message, value, f"{path}.", clears=clears)
        return
    try:
        cast(Duration, message).FromJsonString(_text(value, path))
    except ValueError:
        raise QueryRefusal(f"{path} is not a number of seconds such as '3600s'") from None


def _scalar(field: FieldDescriptor, value: object, path: str) -> object:
    if field.enum_type is not None:
        numbers = {word: number for number, word in words(field.enum_type).items()}
        if not isinstance(value, str) or value not in numbers:
            raise QueryRefusal(f"{path} is not one of {', '.join(words_of(field))}")
        return numbers[value]
    if is_time(field):
        return _time(value, path)
    if is_context(field):
        return _object_text(value, path)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if not isinstance(value, bool):
            raise QueryRefusal(f"{path} is neither true nor false")
        return value
    if field.cpp_type in _INTEGERS:
        return _whole(value, path, *_INTEGERS[field.cpp_type])
    if field.cpp_type in _REALS:
        return _real(value, path)
    text = _text(value, path)
    return _bytes(text, path) if field.type == FieldDescriptor.TYPE_BYTES else text


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise QueryRefusal(f"{path} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise QueryRefusal(f"{path} is not valid Unicode") from None
    return value


def _whole(value: object, path: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise QueryRefusal(f"{path} is not a whole number from {low} to {high}")
    return value


def _real(value: object, path: str) -> float:
    if isinstance(value, Exact):
        return float(value.text)
    return float(_whole(value, path, -(2**63), 2**63))


def _time(value: object, path: str) -> int:
    try:
        nanos = times.nanos_of(_text(value, path))
    except ValueError as error:
        raise QueryRefusal(f"{path}: {error}, such as 2026-11-25T09:30:00Z") from None
    return _whole(nanos, path, *_INTEGERS[FieldDescriptor.CPPTYPE_INT64])


def _object_text(value: object, path: str) -> str:
    if not isinstance(value, dict):
        raise QueryRefusal(f"{path} is not an object")
    return _text(json_text(value, is_ascii=False), path)


def _bytes(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise QueryRefusal(f"{path} is not base64") from None


def _distinct(pairs: Iterable[tuple[str, object]]) -> Json:
    content: Json = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"{name[:80]!r} is there twice")
        content[name] = value
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")
