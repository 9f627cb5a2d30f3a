"""Connection of a command to meta, and exit codes for refused calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import grpc
import typer

from meta.client import MetaClient, typed_error
from meta.errors import InvalidArgument, MetaError, NotFound, Unavailable
from meta.process import ConfigError, environment
from segplane.dataplane.settings import client_tls
from segplane.suggestions import with_suggestion

DEFAULT_ADDRESS = "127.0.0.1:9500"
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3

MetaAddress = Annotated[
    str,
    typer.Option(
        "--meta-address",
        envvar="SEGPLANE_META_ADDRESS",
        metavar="HOST:PORT",
        help="Address of meta.",
    ),
]


@contextmanager
def connect(address: str) -> Iterator[MetaClient]:
    """Open a client; a refusal becomes one line on stderr and an exit code.

    SEGPLANE_META_AUTH_TOKEN (or ..._FILE) is sent where meta asks for one; SEGPLANE_META_CA_FILE
    and its companions say how to connect over TLS.
    """
    try:
        with _open(address) as client:
            try:
                yield client
            except NotFound as error:
                raise refused(with_suggestion(client, error), address) from None
    except ConfigError as error:
        raise usage(str(error)) from None
    except MetaError as error:
        raise refused(error, address) from None
    except grpc.RpcError as error:
        raise refused(typed_error(error), address) from None


def _open(address: str) -> MetaClient:
    env = environment("SEGPLANE_")
    try:
        return MetaClient(address, auth_token=env.text("META_AUTH_TOKEN", ""), tls=client_tls(env))
    except ValueError as error:
        raise ConfigError(f"TLS to meta: {error}") from error


def refused(error: MetaError, address: str) -> typer.Exit:
    """Print meta's error and return the matching exit."""
    if isinstance(error, Unavailable) and "failed to connect" in error.message:
        complain(
            f"meta does not answer at {address}: start it with `segplane dev`, "
            f"or set SEGPLANE_META_ADDRESS ({error.reason})"
        )
        return typer.Exit(EXIT_UNREACHABLE)
    field = f"{error.field}: " if isinstance(error, InvalidArgument) and error.field else ""
    complain(f"{field}{error.message} ({error.reason})")
    return typer.Exit(EXIT_UNREACHABLE if isinstance(error, Unavailable) else EXIT_REFUSED)


def complain(message: str) -> None:
    """Print one error line."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)


def usage(message: str) -> typer.Exit:
    """Print one error line and return the exit for a wrong argument or setting."""
    complain(message)
    return typer.Exit(EXIT_USAGE)
