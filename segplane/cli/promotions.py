"""The options of `segplane datasets settings` for promoted columns."""

import re
from typing import Annotated

import typer

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import usage
from segplane.cli.output import print_table

Promote = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN:TYPE:SCOPE:ATTRIBUTE",
        help="A typed column over an attribute, such as status:int:record:http.status_code; "
        "TYPE is a KqlType, SCOPE record, resource or scope. Replaces all others but those "
        "of the dataset's schema.",
    ),
]
PromoteNone = Annotated[bool, typer.Option(help="Remove all promoted columns.")]
_PROMOTED = re.compile(r"(?P<name>[^:]+):(?P<type>\w+):(?P<scope>\w+):(?P<attribute>.+)")


def change(settings: pb.DatasetSettings, promote: list[str], *, is_none: bool) -> None:
    """Replace the promoted columns if some are given, or none are asked for."""
    if promote and is_none:
        raise usage("--promote and --promote-none exclude each other")
    if promote or is_none:
        columns = pb.PromotedColumns(columns=map(_promoted, promote))
        settings.promoted_columns.CopyFrom(columns)


def show(settings: pb.DatasetSettings) -> None:
    """Print the typed columns of a dataset."""
    rows = [
        (
            column.name,
            _short(common_pb2.KqlType.Name(column.type)),
            _short(common_pb2.AttributeScope.Name(column.scope)),
            column.attribute,
        )
        for column in settings.promoted_columns.columns
    ]
    print_table(("column", "type", "scope", "attribute"), rows)


def _promoted(text: str) -> common_pb2.PromotedColumn:
    parts = _PROMOTED.fullmatch(text)
    if parts is None:
        raise usage(f"{text!r} is not COLUMN:TYPE:SCOPE:ATTRIBUTE")
    try:
        return common_pb2.PromotedColumn(
            name=parts["name"],
            type=common_pb2.KqlType.Value(f"KQL_TYPE_{parts['type'].upper()}"),
            scope=common_pb2.AttributeScope.Value(f"ATTRIBUTE_SCOPE_{parts['scope'].upper()}"),
            attribute=parts["attribute"],
        )
    except ValueError:
        types = ", ".join(_short(name) for name in common_pb2.KqlType.keys()[:-1])
        raise usage(
            f"{text!r}: TYPE is one of {types}; SCOPE is record, resource or scope"
        ) from None


def _short(name: str) -> str:
    return name.rpartition("_")[2].lower()
