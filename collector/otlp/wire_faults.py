"""The field of a damaged protobuf message that does not parse, with its path.

fault_of(LogRecord.DESCRIPTOR, body)  # (".body.stringValue", "found text that is not UTF-8, ...")
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Fd
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from segments import protowire

_DEPTH_MAX = 100


def fault_of(descriptor: Any, body: bytes, depth: int = 0) -> tuple[str, str]:
    """Return the path below a message, and what was found there and was expected."""
    places: dict[int, int] = {}
    try:
        for number, _, content, end in protowire.fields(body):
            field = descriptor.fields_by_number.get(number)
            if field is None or not content:
                continue
            index = places[number] = places.get(number, -1) + 1
            name = f".{field.json_name}[{index}]" if field.is_repeated else f".{field.json_name}"
            if field.type == Fd.TYPE_STRING and not _is_utf_8(body[content:end]):
                return name, "found text that is not UTF-8, expected UTF-8"
            if field.message_type is not None and not _parses(field, body[content:end]):
                if depth >= _DEPTH_MAX:
                    break
                path, message = fault_of(field.message_type, body[content:end], depth + 1)
                return name + path, message
    except protowire.MalformedWire as error:
        return "", f"found damaged bytes ({error}), expected fields of protobuf"
    return "", f"found bytes that do not parse, expected {descriptor.name} of OTLP"


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parses(field: Any, body: bytes) -> bool:
    try:
        GetMessageClass(field.message_type).FromString(body)
    except DecodeError:
        return False
    return True
