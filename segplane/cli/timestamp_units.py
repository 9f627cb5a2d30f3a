"""The option of `segplane datasets settings` for times that are numbers in JSON records."""

from enum import StrEnum
from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb


class UnitChoice(StrEnum):
    """A unit as requests name it, or none."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"
    GUESS = "guess"


TimestampUnit = Annotated[
    UnitChoice | None,
    typer.Option(
        help="Unit of a timestamp that is a number, in JSON records whose request names none."
        " guess: derived from the magnitude, as usual, if that gives a time between 1990 and 2100."
    ),
]
_UNITS = {
    UnitChoice.S: pb.TIMESTAMP_UNIT_SECONDS,
    UnitChoice.MS: pb.TIMESTAMP_UNIT_MILLISECONDS,
    UnitChoice.US: pb.TIMESTAMP_UNIT_MICROSECONDS,
    UnitChoice.NS: pb.TIMESTAMP_UNIT_NANOSECONDS,
    UnitChoice.GUESS: pb.TIMESTAMP_UNIT_UNSPECIFIED,
}


def number(choice: UnitChoice | None) -> "pb.TimestampUnit.ValueType | None":
    """Return the unit as meta knows it."""
    return None if choice is None else _UNITS[choice]


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return the unit for a person, if the dataset has one."""
    names = [str(choice) for choice, unit in _UNITS.items() if unit == settings.timestamp_unit]
    return [("timestamp unit", name) for name in names if name != UnitChoice.GUESS]
