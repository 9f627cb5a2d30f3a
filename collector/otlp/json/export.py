"""OTLP/JSON to the protobuf bytes of the same export.

It is proto3 JSON with two differences: trace and span ids are hexadecimal, and enumerations are
numbers. Members that the schema does not know are ignored and counted, as OTLP asks. A record with
a value that is not of its member's type is rejected by itself, with its path; a resource, scope or
metric whose own members are wrong is rejected with the records below it.
"""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from collector.otlp.export import TooManyRecords
from collector.otlp.faults import Faults
from collector.otlp.json import messages
from collector.otlp.json.messages import MessageReader, UnknownMembers
from collector.otlp.json.values import RepeatedMember, Unfit
from collector.otlp.partial_success import PartialSuccess
from collector.refusal import malformed
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import TRAITS, Signal

NAME_LENGTH_MAX = 100
# An attribute has two objects in 50 bytes, so real exports of 16 MiB stay below twice the default.
PARTS_PER_RECORD = 2
# No type has a number of more.
DIGITS_MAX = 400
# The fields in which messages hold what is below them, down to the records.
_BELOW: dict[str, tuple[str, ...]] = {
    message: (field,)
    for traits in TRAITS.values()
    for message, field in zip(traits.messages[:-1], traits.containers, strict=True)
} | {
    "Metric": ("gauge", "sum", "histogram", "exponential_histogram", "summary"),
    **dict.fromkeys(
        ("Gauge", "Sum", "Histogram", "ExponentialHistogram", "Summary"), ("data_points",)
    ),
}


def to_protobuf(signal: Signal, body: bytes, records_max: int = sys.maxsize) -> PartialSuccess:
    """Convert an OTLP/JSON export request; raises Refused if nothing of it can be converted.

    Raises TooManyRecords early if it has more objects and lists than `records_max` records could
    need: 16 MiB of empty ones would take half a minute and gigabytes.
    """
    if (parts := body.count(b"{") + body.count(b"[")) > PARTS_PER_RECORD * records_max:
        raise TooManyRecords(records_max, parts)
    tree = _parsed(signal, body)
    message = OFFICIAL_CLASSES[signal]()
    read = _Read()
    try:
        _reader_of(message.DESCRIPTOR).fill(message, tree, 1, read)
    except Unfit as unfit:
        raise _refused(signal, unfit.text()) from unfit
    _require_content(signal, tree, read)
    return PartialSuccess(
        message.SerializeToString(),
        read.faults.num_rejected,
        f"not valid OTLP/JSON ({read.faults.text()})",
        num_unknown=read.unknown.count,
        spelling=_spelling_of(tree, read.unknown),
    )


def _parsed(signal: Signal, body: bytes) -> dict[str, object]:
    try:
        tree = _loaded(body)
    except json.JSONDecodeError as error:
        cause = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise _refused(signal, cause) from error
    except UnicodeError as error:
        raise _refused(signal, "text is not valid Unicode") from error
    except RecursionError as error:
        raise _refused(signal, messages.TOO_DEEP) from error
    if not isinstance(tree, dict):
        raise malformed("body is not a JSON object")
    return tree


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_object)
    except (json.JSONDecodeError, UnicodeError):
        raise
    except ValueError:
        # A whole number has more digits than Python reads: it fits no type, as infinity.
        return json.loads(body, object_pairs_hook=_object, parse_int=_whole_number)


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= DIGITS_MAX else math.inf


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(members)
    return unique if len(unique) == len(members) else RepeatedMember(unique)


@dataclass(slots=True)
class _Read:
    """The course of reading one export: its records, rejections and unknown members."""

    num_kept: int = 0
    faults: Faults = field(default_factory=Faults)
    unknown: UnknownMembers = field(default_factory=UnknownMembers)
    path: list[str] = field(default_factory=list)

    def reject(self, num_records: int, unfit: Unfit) -> None:
        """Note a value that rejects some records."""
        self.faults.add(unfit.path("".join(self.path)), unfit.message, num_records)


@dataclass(slots=True)
class _ContainerReader:
    """Reads a message between an export and its records.

    Its own members come first: if one of them is wrong, no record below it was counted yet.
    """

    reader: MessageReader
    # The fields that hold records or further containers, by both of their names.
    below: dict[str, "_Below"]

    def fill(self, message: Any, tree: Any, depth: int, read: _Read) -> None:
        """Read an object into a message; raises Unfit if its own members are wrong."""
        self.reader.check(tree, depth)
        children = []
        for name, value in tree.items():
            if value is None:
                continue
            if name in self.below:
                children.append((name, value))
                continue
            fill = self.reader.fields.get(name)
            if fill is None:
                self.reader.note_unknown(tree, name, read.unknown)
                continue
            try:
                fill(message, value, depth, read.unknown)
            except Unfit as unfit:
                raise unfit.within(f".{name}")  # noqa: B904 - the same refusal travels on
        for name, value in children:
            self._fill_below(message, name, value, depth, read)

    def _fill_below(self, message: Any, name: str, value: Any, depth: int, read: _Read) -> None:
        read.path.append(f".{name}")
        try:
            self.below[name].fill(message, value, depth, read)
        except Unfit as unfit:
            raise unfit.within(f".{name}")  # noqa: B904 - the same refusal travels on
        finally:
            read.path.pop()


@dataclass(slots=True)
class _Below:
    """One field below a container: records, further containers, or a metric's kind of data."""

    name: str
    type: Descriptor
    is_repeated: bool

    @classmethod
    def of(cls, described: FieldDescriptor) -> "_Below":
        """Return the field of a descriptor, whose type is a message."""
        assert described.message_type is not None
        return cls(described.name, described.message_type, bool(described.is_repeated))

    def fill(self, message: Any, value: Any, depth: int, read: _Read) -> None:
        """Read a value into the field; raises Unfit if it is not a list, or no kind of data."""
        name, type_ = self.name, self.type
        if not self.is_repeated:
            kind = getattr(message, name)
            kind.SetInParent()
            _reader_of(type_).fill(kind, value, depth + 1, read)
            return
        messages.require_list(value)
        if type_.name in _BELOW:
            _fill_containers(type_, getattr(message, name), value, depth, read)
        else:
            _fill_records(type_, getattr(message, name), value, depth, read)


def _fill_records(
    type_: Descriptor, repeated: Any, items: list[Any], depth: int, read: _Read
) -> None:
    """Read records, and reject each that is wrong by itself."""
    fill, unknown = messages.reader_of(type_).fill, read.unknown
    for index, item in enumerate(items):
        try:
            fill(repeated.add(), item, depth + 1, unknown)
        except Unfit as unfit:
            del repeated[-1]
            read.reject(1, unfit.within(f"[{index}]"))
    read.num_kept += len(repeated)


def _fill_containers(
    type_: Descriptor, repeated: Any, items: list[Any], depth: int, read: _Read
) -> None:
    """Read containers, and reject each whose own members are wrong with the records below it."""
    reader = _reader_of(type_)
    for index, item in enumerate(items):
        read.path.append(f"[{index}]")
        try:
            reader.fill(repeated.add(), item, depth + 1, read)
        except Unfit as unfit:
            del repeated[-1]
            read.reject(max(1, _num_records(item, type_)), unfit)
        finally:
            read.path.pop()


@cache
def _reader_of(type_: Descriptor) -> _ContainerReader:
    fields = [type_.fields_by_name[name] for name in _BELOW[type_.name]]
    below = {name: _Below.of(each) for each in fields for name in (each.name, each.json_name)}
    return _ContainerReader(messages.reader_of(type_), below)


def _num_records(tree: object, type_: Descriptor) -> int:
    """Count the records of a rejected object; a metric without data points counts as one."""
    if type_.name not in _BELOW:
        return 1
    if not isinstance(tree, dict):
        return 0
    number = 0
    for name, below in _reader_of(type_).below.items():
        child = tree.get(name)
        if child is not None:
            children = child if below.is_repeated and isinstance(child, list) else [child]
            number += sum(_num_records(each, below.type) for each in children)
    return max(1, number) if type_.name == "Metric" else number


def _require_content(signal: Signal, tree: Mapping[str, object], read: _Read) -> None:
    """Raise Refused if nothing of an export was read although it is not empty."""
    if read.num_kept:
        return
    if read.faults.num_rejected:
        raise _refused(signal, read.faults.text())
    readers = _reader_of(OFFICIAL_CLASSES[signal].DESCRIPTOR).below
    if tree and readers.keys().isdisjoint(tree):
        name = next(iter(tree))
        raise malformed(
            f"body has no member of an OTLP/JSON {signal} export: found {_quoted(name)}, expected"
            f" {TRAITS[signal].json_name}{_other_path(tree)}"
        )
    if read.unknown.suspect is not None:
        raise _refused(signal, _spelling_of(tree, read.unknown))


def _other_path(tree: Mapping[str, object]) -> str:
    for other in TRAITS.values():
        if other.json_name in tree or other.containers[0] in tree:
            return f"; send {other.json_name} to {other.http_path}"
    return ""


def _refused(signal: Signal, cause: str) -> Exception:
    # The values themselves are never quoted.
    return malformed(f"body is not an OTLP/JSON {signal} export ({cause})")


def _spelling_of(tree: Mapping[str, object], unknown: UnknownMembers) -> str:
    """Return where the first suspicious member is and what it may mean; "" if there is none."""
    if unknown.suspect is None:
        return ""
    owner, name, spelling = unknown.suspect
    path = "".join(_path_to(tree, owner)).removeprefix(".")
    return f"{path + ': ' if path else ''}{_quoted(name)} is unknown, did you mean {spelling}?"


def _path_to(tree: object, owner: Mapping[str, object]) -> list[str]:
    """Return the path to an object, which is somewhere in the tree, from its beginning on."""
    pending: list[tuple[object, list[str]]] = [(tree, [])]
    while pending:
        value, path = pending.pop()
        if value is owner:
            return path
        below: list[tuple[object, list[str]]] = []
        if isinstance(value, dict):
            below = [(child, [*path, f".{_shortened(name)}"]) for name, child in value.items()]
        elif isinstance(value, list):
            below = [(child, [*path, f"[{index}]"]) for index, child in enumerate(value)]
        pending += reversed(below)
    return []


def _quoted(name: str) -> str:
    """Return a member's name as JSON text of bounded length."""
    return json.dumps(_shortened(name))


def _shortened(name: str) -> str:
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[:NAME_LENGTH_MAX]}..."
