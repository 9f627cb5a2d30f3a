"""Request checks: each returns the checked value or raises InvalidArgument for its field."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar
from uuid import UUID

from google.protobuf.message import Message

from meta.errors import InvalidArgument
from meta.v1 import common_pb2
from segments import dataset_names
from segments.dataset_names import DatasetName
from segments.ids import UUID_CHARACTERS, parse_uuid

NAME_CHARACTERS_MAX = 255
TEXT_CHARACTERS_MAX = 65_536
INT64_MAX = 2**63 - 1
EVENTS_MAX = 2**31 - 1
# 8 TiB, above the size of any object; the totals of a million segments still fit into int64.
SIZE_BYTES_MAX = 2**43
_CONTROLS = frozenset(map(chr, [*range(0x20), 0x7F, *range(0x80, 0xA0)]))
_LAYOUT = frozenset("\t\n\r")
# Line and paragraph separators, and what reverses the order in which a line is read.
_INVISIBLE = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

Item = TypeVar("Item")
Checked = TypeVar("Checked")


def name(value: str, field: str = "name") -> str:
    """1..255 characters without control characters."""
    if not value:
        raise InvalidArgument(f"{field} must not be empty", field=field)
    if len(value) > NAME_CHARACTERS_MAX:
        raise InvalidArgument(
            f"{field} has {len(value)} characters, more than {NAME_CHARACTERS_MAX}", field=field
        )
    return text(value, field)


def new_name(value: str, field: str = "name") -> str:
    """A name that two people read alike: no blank at either end, no invisible separators."""
    # First, since the messages below repeat the name.
    name(value, field)
    if value != value.strip():
        raise InvalidArgument(f"{field} begins or ends with a blank: {value!r}", field=field)
    return visible(value, field)


def visible(value: str, field: str) -> str:
    """Text without invisible separators."""
    if _INVISIBLE.intersection(text(value, field)):
        raise InvalidArgument(f"{field} holds an invisible character: {value!a}", field=field)
    return value


def new_names(request: Message) -> dict[str, Any]:
    """The new name that a change of an entry asks for, by the name of its field."""
    new = filter_name(request, "new_name")
    return {} if new is None else {"name": new}


def new_dataset_name(value: str, field: str = "name") -> DatasetName:
    """A new name that every door of a dataset reads alike, perhaps of a group: `group/name`."""
    parts = dataset_names.parse(name(value, field))
    if parts.group is not None:
        new_group_name(parts.group, field)
    _unreserved(new_name(parts.base_name, field), field, dataset_names.reserved(parts.base_name))
    return parts


def new_group_name(value: str, field: str = "name") -> str:
    """A new name that every door of a group reads alike."""
    return _unreserved(new_name(value, field), field, dataset_names.reserved_for_groups(value))


def _unreserved(value: str, field: str, reason: str) -> str:
    if reason:
        raise InvalidArgument(f"{field} is {value!r}, expected another: {reason}", field=field)
    return value


def text(
    value: str, field: str, *, characters_max: int = TEXT_CHARACTERS_MAX, lines: bool = False
) -> str:
    """Bounded text without NUL and control characters; `lines` allows tab and line ends."""
    if len(value) > characters_max:
        raise InvalidArgument(
            f"{field} has {len(value)} characters, more than {characters_max}", field=field
        )
    controls = _CONTROLS.intersection(value)
    if controls - (_LAYOUT if lines else frozenset()):
        raise InvalidArgument(f"{field} holds a control character", field=field)
    return value


def uuid(value: str, field: str) -> UUID:
    """Any RFC 9562 text form of an id."""
    if not value:
        raise InvalidArgument(f"{field} must not be empty", field=field)
    try:
        # Other forms may be of any length, and are not kept.
        return parse_uuid(value) if len(value) == UUID_CHARACTERS else UUID(value)
    except ValueError:
        raise InvalidArgument(f"{field} is not a UUID", field=field) from None


def optional_uuid(value: str, field: str) -> UUID | None:
    """A UUID, or None if the field is empty."""
    return uuid(value, field) if value else None


def filter_uuid(request: Message, field: str) -> UUID | None:
    """The id in an optional filter field; None if the field is unset; "" is refused."""
    return uuid(getattr(request, field), field) if request.HasField(field) else None


def filter_name(request: Message, field: str) -> str | None:
    """The name in an optional filter field; None if the field is unset; "" is refused."""
    return name(getattr(request, field), field) if request.HasField(field) else None


def identifier(request: Message) -> UUID | str:
    """The oneof `identifier` of a request: an id, or a name as text."""
    which = request.WhichOneof("identifier")
    if which is None:
        raise InvalidArgument("neither id nor name is set", field="identifier")
    value = getattr(request, which)
    return uuid(value, "id") if which == "id" else name(value)


def count(value: int, field: str, *, low: int = 0, high: int = INT64_MAX) -> int:
    """A whole number in [low, high]."""
    if not low <= value <= high:
        raise InvalidArgument(f"{field} is {value}, not between {low} and {high}", field=field)
    return value


def optional_count(
    request: Message, field: str, path: str = "", *, low: int = 0, high: int = INT64_MAX
) -> int | None:
    """The number in an optional field, named by a path in refusals; None if it is unset."""
    if not request.HasField(field):
        return None
    return count(getattr(request, field), path or field, low=low, high=high)


def size(value: int, field: str) -> int:
    """The size of one object or of its content, in bytes."""
    return count(value, field, high=SIZE_BYTES_MAX)


def limit(value: int, field: str = "limit", *, default: int, most: int) -> int:
    """A page size: 0 = default, clamped to `most`; negative is refused."""
    return min(count(value, field) or default, most)


def closed_range(value: common_pb2.TimeRange, field: str) -> tuple[int, int]:
    """A segment's range [start, end]; start == end is legal."""
    start, end = value.start_time, value.end_time
    if start > end:
        raise InvalidArgument(f"{field} starts at {start}, after its end {end}", field=field)
    return start, end


def half_open_range(value: common_pb2.TimeRange, field: str) -> tuple[int, int]:
    """A query's range [start, end); must not be empty. An end of INT64_MAX is not a bound."""
    if value.start_time >= value.end_time and value.end_time != INT64_MAX:
        raise InvalidArgument(
            f"{field} [{value.start_time}, {value.end_time}) is empty", field=field
        )
    return value.start_time, value.end_time


def some(value: str, field: str, *, lines: bool = True) -> str:
    """Text that is not empty."""
    if not value:
        raise InvalidArgument(f"{field} must not be empty", field=field)
    return text(value, field, lines=lines)


def distinct(values: Sequence[Item], field: str) -> Sequence[Item]:
    """A list without duplicates."""
    if len(set(values)) != len(values):
        raise InvalidArgument(f"{field} has a duplicate", field=field)
    return values


def at_most(values: Collection[Item], field: str, most: int) -> Collection[Item]:
    """A bounded list."""
    if len(values) > most:
        raise InvalidArgument(f"{field} has {len(values)} items, more than {most}", field=field)
    return values


def each(
    values: Collection[Item], field: str, most: int, check: Callable[[Item, str], Checked]
) -> list[Checked]:
    """A bounded list, each item of it checked under its own name."""
    at_most(values, field, most)
    return [check(value, f"{field}[{index}]") for index, value in enumerate(values)]
