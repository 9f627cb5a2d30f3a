"""Strict proto3 JSON: readers of messages, compiled once for each type.

The protobuf library reads JSON leniently: it takes text and lists for objects, and unknown words of
enumerations for 0. These readers refuse each value that is not of its member's type. A path is put
together while a refusal travels up, so that a valid message pays nothing for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from collector.otlp.json import values
from collector.otlp.json.spellings import Spellings
from collector.otlp.json.values import Unfit, kind_of

# Messages within one another, as in OTLP/protobuf; a list or map within a list or map takes two.
NESTING_MAX = 100
TOO_DEEP = f"nested too deeply: more than {NESTING_MAX} messages within one another"
_ID_FIELDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}
_ENUM_RANGE = _INTEGERS[FieldDescriptor.CPPTYPE_INT32]


@dataclass(slots=True)
class UnknownMembers:
    """Members that no schema of an export knows, and the first that resembles a known one."""

    count: int = 0
    # The object and its member, and the member that may be meant.
    suspect: tuple[Mapping[str, object], str, str] | None = None


Fill = Callable[[Any, Any, int, UnknownMembers], None]
"""Reads a JSON value into a field of a message, at a depth of messages."""


@dataclass(slots=True)
class MessageReader:
    """Reads JSON objects into messages of one type."""

    fields: dict[str, Fill] = field(default_factory=dict)
    # Names of the proto that differ from those of JSON, which are read too.
    second_names: frozenset[str] = frozenset()
    # The members of which an object may have one, by what they are called together.
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    json_names: Mapping[str, str] = field(default_factory=dict)
    spellings: Spellings = field(default_factory=Spellings)

    def fill(self, message: Any, tree: Any, depth: int, unknown: UnknownMembers) -> None:
        """Read an object into a message; raises Unfit."""
        self.check(tree, depth)
        for name, value in tree.items():
            if value is None:
                continue
            fill = self.fields.get(name)
            if fill is None:
                self.note_unknown(tree, name, unknown)
                continue
            try:
                fill(message, value, depth, unknown)
            except Unfit as unfit:
                raise unfit.within(f".{name}")  # noqa: B904 - the same refusal travels on

    def check(self, tree: Any, depth: int) -> None:
        """Raise Unfit unless the value is an object whose members do not exclude one another."""
        if type(tree) is not dict:
            raise Unfit(kind_of(tree), "an object")
        if depth > NESTING_MAX:
            raise Unfit("a value that is " + TOO_DEEP, f"at most {NESTING_MAX}")
        if len(tree) > 1:
            if not self.second_names.isdisjoint(tree):
                self._check_names(tree)
            for what, members in self.choices.items():
                if sum(tree[name] is not None for name in members.intersection(tree)) > 1:
                    raise Unfit(f"several kinds of {what}", "one")

    def note_unknown(self, tree: Mapping[str, object], name: str, unknown: UnknownMembers) -> None:
        """Count a member that the schema does not know."""
        unknown.count += 1
        if unknown.suspect is None:
            spelling = self.spellings.meant_by(name)
            if spelling:
                unknown.suspect = (tree, name, spelling)

    def _check_names(self, tree: Mapping[str, object]) -> None:
        for name in self.second_names.intersection(tree):
            if self.json_names[name] in tree:
                raise Unfit(f"{self.json_names[name]} under both of its names", "one of them")


@cache
def reader_of(descriptor: Descriptor) -> MessageReader:
    """Return the reader of a message type, compiled on first use."""
    reader = MessageReader()
    compile_fields(reader, descriptor)
    return reader


def compile_fields(reader: MessageReader, descriptor: Descriptor) -> None:
    """Give a reader the fields of its message type."""
    for described in descriptor.fields:
        fill = _repeated(described) if described.is_repeated else _singular(described)
        reader.fields[described.json_name] = reader.fields[described.name] = fill
    reader.json_names = {each.name: each.json_name for each in descriptor.fields}
    reader.second_names = frozenset(
        name for name, json_name in reader.json_names.items() if name != json_name
    )
    reader.choices = {
        choice.name: frozenset(
            name for each in choice.fields for name in (each.name, each.json_name)
        )
        for choice in descriptor.oneofs
        if len(choice.fields) > 1
    }
    reader.spellings = Spellings.of(descriptor)


def _singular(described: FieldDescriptor) -> Fill:
    if described.message_type is not None:
        return _message(described.name, described.message_type)
    return _scalar(described.name, _value_reader(described))


def _message(name: str, descriptor: Descriptor) -> Fill:
    # Values are within values, so the reader is looked up at the first use.
    def fill(message: Any, value: Any, depth: int, unknown: UnknownMembers) -> None:
        inner = getattr(message, name)
        inner.SetInParent()
        reader_of(descriptor).fill(inner, value, depth + 1, unknown)

    return fill


def _scalar(name: str, read: Callable[[Any], Any]) -> Fill:
    def fill(message: Any, value: Any, _depth: int, _unknown: UnknownMembers) -> None:
        try:
            setattr(message, name, read(value))
        except ValueError:
            raise _not_unicode() from None

    return fill


def _not_unicode() -> Unfit:
    return Unfit("text that is not valid Unicode", "Unicode text")


def _repeated(described: FieldDescriptor) -> Fill:
    if described.message_type is not None:
        return _messages(described.name, described.message_type)
    name, read = described.name, _value_reader(described)

    def fill(message: Any, value: Any, _depth: int, _unknown: UnknownMembers) -> None:
        require_list(value)
        scalars = getattr(message, name)
        for index, item in enumerate(value):
            try:
                scalars.append(read(item))
            except Unfit as unfit:
                raise unfit.within(f"[{index}]")  # noqa: B904 - the same refusal travels on
            except ValueError:
                raise _not_unicode().within(f"[{index}]") from None

    return fill


def _messages(name: str, descriptor: Descriptor) -> Fill:
    def fill(message: Any, value: Any, depth: int, unknown: UnknownMembers) -> None:
        require_list(value)
        add = getattr(message, name).add
        read = reader_of(descriptor).fill
        for index, item in enumerate(value):
            try:
                read(add(), item, depth + 1, unknown)
            except Unfit as unfit:
                raise unfit.within(f"[{index}]")  # noqa: B904 - the same refusal travels on

    return fill


def require_list(value: object) -> None:
    """Raise Unfit unless the value is a list."""
    if type(value) is not list:
        raise Unfit(kind_of(value), "a list")


def _value_reader(described: FieldDescriptor) -> Callable[[Any], Any]:
    if described.name in _ID_FIELDS:
        return values.hexadecimal
    if described.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        is_bytes = described.type == FieldDescriptor.TYPE_BYTES
        return values.base64_bytes if is_bytes else _text
    if described.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return values.boolean
    if described.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return values.double
    if described.enum_type is not None:
        return _enumeration(described.enum_type)
    return _bounded(values.whole_number, *_INTEGERS[described.cpp_type])


def _text(value: object) -> object:
    if type(value) is not str:
        raise Unfit(kind_of(value), "text")
    return value


def _enumeration(described: EnumDescriptor) -> Callable[[Any], int]:
    numbers = {name: value.number for name, value in described.values_by_name.items()}
    return _bounded(values.enumeration(described.name, numbers), *_ENUM_RANGE)


def _bounded(read: Callable[[Any], int], lowest: int, highest: int) -> Callable[[Any], int]:
    bits = (highest - lowest).bit_length()
    sign = "a" if lowest else "an unsigned"

    def read_bounded(value: Any) -> int:
        number = value if type(value) is int else read(value)
        if not lowest <= number <= highest:
            raise Unfit("a whole number beyond it", f"{sign} whole number of {bits} bits")
        return number

    return read_bounded
