"""Connection of a command to meta, and exit codes for refused calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from click.exceptions import Exit

from segplane.cli.messages import MetaClient
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from meta.errors import MetaError

DEFAULT_ADDRESS = "127.0.0.1:9500"
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3

MetaAddress = Annotated[
    str,
    Option(
        "--meta-address",
        envvar="SEGPLANE_META_ADDRESS",
        metavar="HOST:PORT",
        help="Address of meta, or several with commas.",
    ),
]


@contextmanager
def connect(address: str) -> Iterator[MetaClient]:
    """Open a client; a refusal becomes one line on stderr and an exit code.

    SEGPLANE_META_AUTH_TOKEN (or ..._FILE) is sent if meta asks for one, without them the credential
    of `segplane login`. SEGPLANE_META_CA_FILE and its companions configure TLS.
    """
    # The help of commands needs neither gRPC nor protobuf.
    import grpc

    from meta.client import typed_error
    from meta.errors import MetaError, NotFound
    from meta.process.exits import ConfigError
    from segplane.read.lookup import with_suggestion

    try:
        with open_client(address, None) as client:
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


def open_client(address: str, token: str | None = None) -> MetaClient:
    """Open a client with a token, None = with that of the environment or the saved login.

    Raises ConfigError.
    """
    from dataplane.settings import client_tls
    from meta.client import MetaClient
    from meta.process.environment import environment
    from meta.process.exits import ConfigError
    from segplane.login import credentials
    from segplane.login.saved import LoginError

    env, login, file = environment("SEGPLANE_"), None, ""
    try:
        if token is None:
            file = env.file_of("META_AUTH_TOKEN")
            if not env.is_set("META_AUTH_TOKEN"):
                login = credentials.of_server(address)
            token = "" if file else env.text("META_AUTH_TOKEN", "")
        return MetaClient(
            address,
            auth_token=token,
            auth_token_file=file,
            credentials=login,
            tls=client_tls(env),
        )
    except ValueError as error:
        raise ConfigError(f"connection to meta: {error}") from error
    except LoginError as error:
        raise ConfigError(str(error)) from error


def refused(error: "MetaError", address: str) -> Exit:
    """Print meta's error and return the matching exit."""
    from meta.errors import InvalidArgument, Unauthenticated, Unavailable

    if isinstance(error, Unavailable) and "failed to connect" in error.message:
        complain(
            f"meta does not answer at {address}: start it with `segplane dev`, "
            f"or set SEGPLANE_META_ADDRESS ({error.reason})"
        )
        return Exit(EXIT_UNREACHABLE)
    if isinstance(error, Unauthenticated) and "segplane login" not in error.message:
        complain(f"{error.message}: see `segplane login` ({error.reason})")
        return Exit(EXIT_REFUSED)
    field = error.field if isinstance(error, InvalidArgument) else ""
    prefix = "" if not field or error.message.startswith(field) else f"{field}: "
    blockers = error.metadata.get("blockers")
    complain(f"{prefix}{error.message}{f': {blockers}' if blockers else ''} ({error.reason})")
    return Exit(EXIT_UNREACHABLE if isinstance(error, Unavailable) else EXIT_REFUSED)


def complain(message: str) -> None:
    """Print one error line."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)


def usage(message: str) -> Exit:
    """Print one error line and return the exit for a wrong argument or setting."""
    complain(message)
    return Exit(EXIT_USAGE)
