"""Options of `segplane datasets settings` for objects that clients register without facts."""

from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb

RefuseForeign = Annotated[
    bool | None,
    typer.Option(
        "--refuse-foreign/--take-foreign",
        help="Refuse objects that clients register without the facts of their content.",
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of the times in such objects; '' = timestamp, as usual."
    ),
]


def change(
    settings: pb.DatasetSettings,
    before: pb.DatasetSettings,
    refused: bool | None,
    time_column: str | None,
) -> None:
    """Change the given settings; both are replaced as a whole."""
    if refused is None and time_column is None:
        return
    settings.foreign_files.CopyFrom(before.foreign_files)
    if refused is not None:
        settings.foreign_files.refused = refused
    if time_column is not None:
        settings.foreign_files.time_column = time_column


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return what differs from the usual, for a person."""
    refused, column = settings.foreign_files.refused, settings.foreign_files.time_column
    return [
        *[("foreign files", "refused")] * refused,
        *[("foreign time column", column)] * bool(column),
    ]
