"""Output of commands: aligned tables for people, JSON for programs."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from meta.v1 import common_pb2
from segplane.terminal.plain_text import NONE, print_table, size_text

__all__ = [
    "NONE",
    "AsJson",
    "author_facts",
    "message_dict",
    "print_facts",
    "print_json",
    "print_json_lines",
    "print_table",
    "size_text",
    "time_text",
]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON (64-bit numbers as text, as proto3 has it).")
]


def print_json(messages: Message | Iterable[Message], **parts: Message | str) -> None:
    """Print one message as an object, with `parts` as further fields, or many as a list.

    A list is printed as its messages arrive: it may be longer than memory.
    """
    if isinstance(messages, Message):
        fields = {
            name: part if isinstance(part, str) else message_dict(part)
            for name, part in parts.items()
        }
        print(json.dumps(message_dict(messages) | fields, indent=2))
        return
    is_empty = True
    for message in messages:
        print("[" if is_empty else ",")
        print(textwrap.indent(json.dumps(message_dict(message), indent=2), "  "), end="")
        is_empty = False
    print("[]" if is_empty else "\n]")


def print_json_lines(messages: Iterable[Message]) -> None:
    """Print each message as an object on a line of its own, at once."""
    for message in messages:
        print(json.dumps(message_dict(message)), flush=True)


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name.ljust(width)}  {value}")


def author_facts(authors: common_pb2.Authors) -> Iterator[tuple[str, object]]:
    """The authors of a catalog entry and the times of their changes, as far as they are known."""
    for what in ("created", "updated", "deleted"):
        if by := getattr(authors, f"{what}_by"):
            yield f"{what} by", f"{by}, {getattr(authors, f'{what}_at')}"


def time_text(nanos: int) -> str:
    """Write a time on the wire as RFC 3339 in UTC, to the microsecond."""
    if nanos == 0:
        return NONE
    seconds, rest = divmod(nanos, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{nanos} ns"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def message_dict(message: Message) -> dict[str, object]:
    """A message in proto3's JSON form, with the names of its fields as in the proto."""
    plain: dict[str, object] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return plain
