"""Answers of commands: lines for people, JSON for programs."""

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from segplane.cli.parameters import Option
from segplane.terminal.plain_text import NONE, size_text, table

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from meta.v1 import common_pb2

__all__ = ["NONE", "size_text", "table"]

Item = TypeVar("Item")
Fact: TypeAlias = tuple[str, object]
Columns: TypeAlias = Mapping[str, str | Callable[[Item], object]]
AsJson = Annotated[
    bool, Option("--json", help="Print JSON (64-bit numbers as text, as proto3 has it).")
]


class JsonText(str):
    """An item of a list that is JSON already."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a command.

    `data` is a message, a mapping, a dataclass or a list of such; an iterator is printed as it
    arrives, and may be longer than memory. Only one of `data` and `text` is read. `notes` go to
    stderr in both cases. With `has_json_lines`, a list in JSON is an object a line.
    """

    data: object
    text: Iterable[str] = ()
    notes: Sequence[str] = ()
    exit_code: int = 0
    has_json_lines: bool = False


def listing(
    items: Iterable[Item],
    columns: "Columns[Item]",
    *,
    notes: Sequence[str] = (),
    has_json_lines: bool = False,
) -> Answer:
    """Answer with a list: a table whose columns are attributes or functions of the items."""
    rows = ([cell(item, column) for column in columns.values()] for item in items)
    return Answer(items, table(tuple(columns), rows), notes, has_json_lines=has_json_lines)


def cell(item: object, column: str | Callable[..., object]) -> object:
    """Return an attribute of an item, or the value of a function; empty text is NONE."""
    value = getattr(item, column) if isinstance(column, str) else column(item)
    return NONE if value == "" else value


def facts(pairs: Iterable[Fact]) -> Iterator[str]:
    """Yield names and values, one pair a line."""
    pairs = list(pairs)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        yield f"{name.ljust(width)}  {value}"


def json_text(data: object, *, has_json_lines: bool = False) -> Iterator[str]:
    """Yield an object, or a list item by item, as JSON."""
    if isinstance(data, Mapping) or is_dataclass(data) or not isinstance(data, Iterable):
        yield json.dumps(plain(data), indent=2)
    elif has_json_lines:
        yield from (json.dumps(plain(item)) for item in data)
    else:
        start = "[\n"
        for item in data:
            text = item if isinstance(item, JsonText) else json.dumps(plain(item), indent=2)
            yield f"{start}{textwrap.indent(text, '  ')}"
            start = ",\n"
        yield "[]" if start == "[\n" else "]"


def plain(data: object) -> object:
    """Return data as values of JSON; messages have the names of their fields as in the proto."""
    if isinstance(data, Mapping):
        return {name: plain(value) for name, value in data.items()}
    if hasattr(data, "DESCRIPTOR"):
        return message_dict(data)  # type: ignore[arg-type]
    if is_dataclass(data) and not isinstance(data, type):
        return asdict(data)
    if isinstance(data, str) or not isinstance(data, Iterable):
        return data
    return [plain(item) for item in data]


def message_dict(message: "Message") -> dict[str, object]:
    """Return a message in proto3's JSON form."""
    from google.protobuf.json_format import MessageToDict

    fields: dict[str, object] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return fields


def author_facts(authors: "common_pb2.Authors") -> Iterator[Fact]:
    """Yield the recorded authors of a catalog entry and the times of their changes."""
    for what in ("created", "updated", "deleted"):
        if by := getattr(authors, f"{what}_by"):
            yield f"{what} by", f"{by}, {getattr(authors, f'{what}_at')}"


def time_text(nanos: int) -> str:
    """Write a time on the wire as RFC 3339 in UTC, to the microsecond."""
    if nanos == 0:
        return NONE
    seconds, fraction = divmod(nanos, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{nanos} ns"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction // 1000:06d}Z"
