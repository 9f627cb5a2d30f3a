"""Messages filled from rows by the names that their fields have in common."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from google.protobuf.message import Message

from meta.services.messages import convert

Filled = TypeVar("Filled", bound=Message)


def filled(kind: type[Filled], row: object, **others: object) -> Filled:
    """A message with the fields that a row has by the same names, and others.

    Ids and times become text; None leaves a field unset.
    """
    names = kind.DESCRIPTOR.fields_by_name
    return of_values(kind, {n: getattr(row, n) for n in names if hasattr(row, n)} | others)


def of_values(kind: type[Filled], values: Mapping[str, object]) -> Filled:
    """A message of values that may be None, ids or times."""
    return kind(**{name: _as_sent(value) for name, value in values.items() if value is not None})


def _as_sent(value: object) -> object:
    if isinstance(value, datetime):
        return convert.time_text(value)
    return str(value) if isinstance(value, UUID) else value
