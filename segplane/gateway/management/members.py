"""Names and kinds of the members that the fields of messages have in JSON."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration

DURATION = Duration.DESCRIPTOR.full_name
_LENGTHS = frozenset({"time_adjustment_nanos"})
# Times whose names have no unit; a zero is one of them.
BOUNDS = frozenset({"start_time", "end_time"})


def fields_of(message: Descriptor | None) -> Sequence[FieldDescriptor]:
    """Return the fields of a message, none without one."""
    return () if message is None else message.fields


@cache
def members_of(message: Descriptor) -> Mapping[str, FieldDescriptor]:
    """Return the fields of a message by the names of their members."""
    return {member_of(field): field for field in fields_of(message)}


def member_of(field: FieldDescriptor) -> str:
    """Return the name of a field in JSON."""
    return field.name.removesuffix("_nanos") if is_time(field) else field.name


def is_time(field: FieldDescriptor) -> bool:
    """Return whether a field is a time in nanoseconds."""
    has_suffix = field.name.endswith("_nanos") and field.name not in _LENGTHS
    is_named_so = has_suffix or field.name in BOUNDS
    return is_named_so and field.cpp_type == FieldDescriptor.CPPTYPE_INT64


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field maps texts to texts."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def is_context(field: FieldDescriptor) -> bool:
    """Return whether a text holds a JSON object."""
    return field.name == "context" and field.cpp_type == FieldDescriptor.CPPTYPE_STRING


def is_required(field: FieldDescriptor) -> bool:
    """Return whether an absent value would mean another one than the field's own zero."""
    return field.enum_type is not None and None not in words(field.enum_type).values()


def words_of(field: FieldDescriptor) -> Iterable[str]:
    """Return the words of an enumeration."""
    return [word for word in words(field.enum_type).values() if word is not None]


@cache
def words(enum: EnumDescriptor) -> Mapping[int, str | None]:
    """Return the words of an enumeration by their numbers; None = not set."""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum.name).upper() + "_"
    names = {value.number: value.name.removeprefix(prefix).lower() for value in enum.values}
    return {number: None if name == "unspecified" else name for number, name in names.items()}
