"""The options of `segplane datasets settings` for automatic columns."""

from enum import StrEnum
from typing import Annotated

import typer

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import usage


class Switch(StrEnum):
    """Whether a dataset has automatic columns, and who chooses them."""

    ON = "on"
    OFF = "off"
    BY_USE = "by-use"


AutomaticSwitch = Annotated[
    Switch | None,
    typer.Option(
        "--automatic-columns",
        help="Whether new segments have hidden columns over attributes, and queries read them. on:"
        " those of --automatic-key. by-use: also those that meta chooses once an hour, by how many"
        " records have an attribute.",
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
        changed.by_use = switch is Switch.BY_USE
    if keys:
        del changed.columns[:]
        changed.columns.extend(map(_column, keys))


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return the setting for a person, if the dataset ever had one."""
    if not settings.HasField("automatic_columns"):
        return []
    columns = settings.automatic_columns
    enabled = Switch.BY_USE if columns.by_use else Switch.ON
    return [
        ("automatic columns", str(enabled if columns.enabled else Switch.OFF)),
        *_named("automatic keys", columns, is_chosen=False),
        *_named("automatic keys, chosen", columns, is_chosen=True),
    ]


def _named(title: str, columns: pb.AutomaticColumns, *, is_chosen: bool) -> list[tuple[str, str]]:
    """Return the attributes and types of the columns of new segments, if there are any."""
    named = [
        f"{column.attribute}:{_name(column.type)}"
        for column in columns.columns
        if column.written and column.chosen == is_chosen
    ]
    return [(title, " ".join(named))] if named else []


def _column(text: str) -> common_pb2.AutomaticColumn:
    attribute, colon, type_ = text.rpartition(":")
    if not colon or type_ not in _TYPES:
        attribute, type_ = text, "string"
    if not attribute:
        raise usage(f"{text!r} is not KEY[:TYPE]")
    return common_pb2.AutomaticColumn(attribute=attribute, type=_TYPES[type_], written=True)


def _name(type_: common_pb2.KqlType.ValueType) -> str:
    return common_pb2.KqlType.Name(type_).rpartition("_")[2].lower()
