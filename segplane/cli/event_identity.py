"""The options of `segplane datasets settings` by which a dataset has each event once."""

from typing import Annotated

import typer

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import usage

NO_COLUMN = "none"
OUTSIDE = {
    "keep": common_pb2.OUTSIDE_WINDOW_KEEP,
    "refuse": common_pb2.OUTSIDE_WINDOW_REFUSE,
}
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
OutsideWindow = Annotated[
    str | None,
    typer.Option(
        "--outside-window",
        metavar="|".join(OUTSIDE),
        help="Treatment of events outside the window: keep makes them rows and forgets their"
        " identities; refuse has collectors reject them, and nurseries quarantine them.",
    ),
]


def change(
    settings: pb.DatasetSettings,
    before: pb.DatasetSettings,
    column: str | None,
    days: int | None,
    outside: str | None,
) -> None:
    """Change what is given of the identity, and leave the rest of it."""
    if column is None and days is None and outside is None:
        return
    if outside is not None and outside not in OUTSIDE:
        raise usage(f"--outside-window is {outside}, not {' or '.join(OUTSIDE)}")
    identity = settings.event_identity
    identity.CopyFrom(before.event_identity)
    if column == NO_COLUMN:
        if days is not None or outside is not None:
            raise usage("a window has no meaning without an identity")
        identity.Clear()
        # Set, and empty.
        identity.SetInParent()
        return
    if column is not None:
        identity.column = column
    if not identity.column:
        raise usage("--identity-window-days and --outside-window need --event-identity")
    if days is not None:
        identity.window_days = days
    if outside is not None:
        identity.outside_window = OUTSIDE[outside]


def facts(settings: pb.DatasetSettings) -> list[tuple[str, object]]:
    """Return what differs from the usual, for a person."""
    repeats: list[tuple[str, object]] = [("duplicates", settings.event_repeats)] * bool(
        settings.event_repeats
    )
    if not settings.HasField("event_identity"):
        return repeats
    identity = settings.event_identity
    is_refused = identity.outside_window == common_pb2.OUTSIDE_WINDOW_REFUSE
    return [
        ("event identity", f"{identity.column}, for {identity.window_days} days"),
        *[("events outside the window", "refused")] * is_refused,
        *repeats,
    ]
