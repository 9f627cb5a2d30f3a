"""The options of `segplane datasets settings` for automatic columns."""

from enum import StrEnum
from typing import Annotated

import typer

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import usage


class Switch(StrEnum):
    """Whether a dataset has automatic columns."""

    ON = "on"
    OFF = "off"


AutomaticSwitch = Annotated[
    Switch | None,
    typer.Option(
        "--automatic-columns",
        help="Whether new segments have hidden columns over the attributes of --automatic-key, and"
        " queries read them.",
    ),
]
AutomaticKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--automatic-key",
        metavar="KEY[:TYPE]",
        help="An attribute of records with such a column, such as user.id or"
        " http.response.status_code:long; TYPE is string, as without it, or long. Replaces all"
        " others.",
    ),
]
_TYPES = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}


def change(
    settings: pb.DatasetSettings,
    before: pb.DatasetSettings,
    switch: Switch | None,
    keys: list[str] | None,
) -> None:
    """Change the switch or the keys if they are given; meta replaces both."""
    if switch is None and not keys:
        return
    changed = settings.automatic_columns
    changed.CopyFrom(before.automatic_columns)
    if switch is not None:
        changed.enabled = switch is not Switch.OFF
    if keys:
        del changed.columns[:]
        changed.columns.extend(map(_column, keys))


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return the setting for a person, if the dataset ever had one."""
    if not settings.HasField("automatic_columns"):
        return []
    columns = settings.automatic_columns
    switch = ("automatic columns", str(Switch.ON if columns.enabled else Switch.OFF))
    keys = [
        f"{column.attribute}:{_name(column.type)}" for column in columns.columns if column.written
    ]
    return [switch, ("automatic keys", " ".join(keys))] if keys else [switch]


def _column(text: str) -> common_pb2.AutomaticColumn:
    attribute, colon, type_ = text.rpartition(":")
    if not colon or type_ not in _TYPES:
        attribute, type_ = text, "string"
    if not attribute:
        raise usage(f"{text!r} is not KEY[:TYPE]")
    return common_pb2.AutomaticColumn(attribute=attribute, type=_TYPES[type_], written=True)


def _name(type_: common_pb2.KqlType.ValueType) -> str:
    return common_pb2.KqlType.Name(type_).rpartition("_")[2].lower()
