"""The option of `segplane datasets` for records that do not conform to the bound schema."""

from enum import StrEnum
from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb


class NonconformingChoice(StrEnum):
    """A treatment of records with a value that does not fit its column."""

    NULL = "null"
    QUARANTINE = "quarantine"
    REJECT = "reject"


Nonconforming = Annotated[
    NonconformingChoice | None,
    typer.Option(
        help="Treatment of a record with a value that does not fit its column of the schema:"
        " null keeps it with a null there, as usual; quarantine puts it into the quarantine; reject"
        " tells the sender; records that collectors did not see go to the quarantine.",
    ),
]


def number(choice: NonconformingChoice | None) -> "pb.NonconformingRecords.ValueType | None":
    """Return the choice as meta knows it."""
    if choice is None:
        return None
    return pb.NonconformingRecords.Value(f"NONCONFORMING_RECORDS_{choice.name}")


def change(settings: pb.DatasetSettings, choice: NonconformingChoice | None) -> None:
    """Change it if a choice is given."""
    value = number(choice)
    if value is not None:
        settings.nonconforming = value


def text_of(settings: pb.DatasetSettings) -> str:
    """Return the choice in one word; "" for the default."""
    if not settings.nonconforming:
        return ""
    return pb.NonconformingRecords.Name(settings.nonconforming).rpartition("_")[2].lower()


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return what differs from the usual, for a person."""
    text = text_of(settings)
    return [("nonconforming", text)] * bool(text)
