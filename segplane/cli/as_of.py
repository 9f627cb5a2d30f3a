"""The option --as-of: a version, or a time, which selects the version at that time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from segplane.cli.connection import usage

TIME_HELP = "RFC 3339, or an age such as 90m or 7d."
AsOf = Annotated[
    str | None, typer.Option(help=f"Read at this version, or that of a time: {TIME_HELP}")
]
_DIGITS_MAX = 18


def moment_of(as_of: str | None) -> int | datetime | None:
    """Return the version's number, or the time. Raises a usage error."""
    from segplane.read import ReadError
    from segplane.read.bounds import moment_nanos

    if as_of is None:
        return None
    if as_of.isascii() and as_of.isdigit():
        if len(as_of) > _DIGITS_MAX:
            raise usage(f"--as-of is {as_of}, which is no version")
        return int(as_of)
    try:
        # An age counts from here, for every dataset and query.
        micros = moment_nanos("as_of", as_of) // 1_000
    except ReadError as error:
        raise usage(str(error)) from None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
