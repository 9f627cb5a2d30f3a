"""The options of `segplane datasets settings` by which a dataset has each event once."""

from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import usage

NO_COLUMN = "none"
IdentityColumn = Annotated[
    str | None,
    typer.Option(
        "--event-identity",
        metavar="COLUMN",
        help="Have each event once: of the log records with one value of a column of the bound"
        f" schema one is a row. {NO_COLUMN} ends it.",
    ),
]
WindowDays = Annotated[
    int | None,
    typer.Option(
        "--identity-window-days",
        min=1,
        max=30,
        help="Days for which identities are kept, by the times of the events.",
    ),
]


def change(
    settings: pb.DatasetSettings, before: pb.DatasetSettings, column: str | None, days: int | None
) -> None:
    """Change what is given of the identity, and leave the rest of it."""
    if column is None and days is None:
        return
    identity = settings.event_identity
    identity.CopyFrom(before.event_identity)
    if column == NO_COLUMN:
        if days is not None:
            raise usage("--identity-window-days has no meaning without an identity")
        identity.Clear()
        # Set, and empty.
        identity.SetInParent()
        return
    if column is not None:
        identity.column = column
    if not identity.column:
        raise usage("--identity-window-days needs --event-identity")
    if days is not None:
        identity.window_days = days


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return what differs from the usual, for a person."""
    repeats: list[tuple[str, object]] = [("repeats of events", settings.event_repeats)] * bool(
        settings.event_repeats
    )
    if not settings.HasField("event_identity"):
        return repeats
    identity = settings.event_identity
    return [
        ("event identity", f"{identity.column}, for {identity.window_days} days"),
        *repeats,
    ]
