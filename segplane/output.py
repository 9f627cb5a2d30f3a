"""Output of commands: aligned tables for people, JSON for programs."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON (64-bit numbers as text, as proto3 has it).")
]

NONE = "-"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def print_json(messages: Message | Iterable[Message], **parts: Message) -> None:
    """Print one message as an object, with `parts` as further fields, or many as a list.

    A list is printed as its messages arrive: it may be longer than memory.
    """
    if isinstance(messages, Message):
        fields = {name: message_dict(part) for name, part in parts.items()}
        print(json.dumps(message_dict(messages) | fields, indent=2))
        return
    is_empty = True
    for message in messages:
        print("[" if is_empty else ",")
        print(textwrap.indent(json.dumps(message_dict(message), indent=2), "  "), end="")
        is_empty = False
    print("[]" if is_empty else "\n]")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headers; numbers to the right, never cut to the terminal's width."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *texts, strict=True)]
    right = [all(_is_figure(row[i]) for row in texts) for i in range(len(headers))]
    for row in ([header.upper() for header in headers], *texts):
        cells = (
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name.ljust(width)}  {value}")


def size_text(size_bytes: int) -> str:
    """Write a size with three figures and a binary unit."""
    size = float(size_bytes)
    for unit in _BYTE_UNITS:
        if size < 1024 or unit == _BYTE_UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    raise AssertionError(size_bytes)


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


def _is_figure(text: str) -> bool:
    return text == NONE or text[:1].isdigit() or text[:2].lstrip("-").isdigit()
