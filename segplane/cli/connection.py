"""Connection of a command to meta, and exit codes for refused calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

from click.exceptions import Exit

from segplane.cli.messages import MetaClient
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from meta.errors import MetaError
    from meta.store.engine.pool import Database

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
TENANT_VARIABLE = "SEGPLANE_TENANT"
TenantOption = Annotated[
    str,
    Option(
        "--tenant",
        envvar=TENANT_VARIABLE,
        metavar="NAME",
        help="Tenant of the calls, for an operator or a credential with roles in several.",
    ),
]


# Refusals by the names of their classes, which take long to import, with their exit codes and what
# precedes their text. The most special class counts.
REFUSALS = {
    "AlteredFile": (EXIT_REFUSED, ""),
    "ChildFailed": (EXIT_REFUSED, ""),
    "ConfigError": (EXIT_USAGE, ""),
    "CursorRefused": (EXIT_USAGE, ""),
    "DatasetUnfit": (EXIT_REFUSED, ""),
    "DatabaseNotEmpty": (EXIT_REFUSED, ""),
    "DeliveryFailed": (EXIT_REFUSED, ""),
    "DemoFailed": (EXIT_REFUSED, "the demo failed: "),
    "IssuerAway": (EXIT_UNREACHABLE, "the issuer cannot be used now: "),
    "IssuerRefused": (EXIT_REFUSED, "the issuer refused: "),
    "LoginError": (EXIT_USAGE, ""),
    "MetaUnreachable": (EXIT_UNREACHABLE, ""),
    "NamesRefused": (EXIT_USAGE, ""),
    "NoDeduplication": (EXIT_REFUSED, ""),
    "NotReady": (EXIT_USAGE, ""),
    "OSError": (EXIT_REFUSED, ""),
    "PostgresError": (EXIT_USAGE, ""),
    "QueryError": (EXIT_REFUSED, ""),
    "ReadError": (EXIT_REFUSED, ""),
    "RecordNotFound": (EXIT_REFUSED, ""),
    "ReconcileRefused": (EXIT_REFUSED, ""),
    "RepairRefused": (EXIT_REFUSED, ""),
    "ReplayRefused": (EXIT_REFUSED, ""),
    "SegmentsError": (EXIT_REFUSED, ""),
    "StoreUnavailable": (EXIT_REFUSED, "the object store cannot be used: "),
    "ViewUnreadable": (EXIT_REFUSED, ""),
}


@contextmanager
def one_line_refusals(address: str) -> Iterator[None]:
    """Turn a refusal into its lines on stderr and an exit code; other errors stay what they are."""
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        if (end := _end_of(error, address)) is None:
            raise
        raise end from None


def _end_of(error: Exception, address: str) -> Exit | None:
    names = [each.__name__ for each in type(error).__mro__]
    if "MetaError" in names:
        return refused(cast("MetaError", error), address)
    if "RpcError" in names:
        from meta.client import typed_error

        return refused(typed_error(cast("Any", error)), address)
    name = next((name for name in names if name in REFUSALS), None)
    if name is None:
        return None
    for line in getattr(error, "differences", ()):
        complain(line)
    if log_tail := getattr(error, "log_tail", ""):
        print(log_tail, file=sys.stderr)
    code, before = REFUSALS[name]
    complain(f"{before}{error}")
    if excerpt := getattr(error, "excerpt", ""):
        print(excerpt, file=sys.stderr)
    return Exit(code)


@contextmanager
def connect(address: str) -> Iterator[MetaClient]:
    """Open a client; a refusal that names what does not exist suggests what does.

    SEGPLANE_META_AUTH_TOKEN (or ..._FILE) is sent if meta asks for one, without them the credential
    of `segplane login`. SEGPLANE_META_CA_FILE and its companions configure TLS.
    """
    from meta.errors import NotFound

    with open_client(address, None) as client:
        try:
            yield client
        except NotFound as error:
            from segplane.read.lookup import with_suggestion

            raise with_suggestion(client, error) from None


@contextmanager
def open_database(url: str, caller_role: str = "") -> Iterator["Database"]:
    """Open meta's database; a refusal becomes one line and an exit code.

    `caller_role` is the role of transactions of tenants' callers, which a migration prepares.
    """
    # The `cli` extra does not install meta's server side.
    from meta.store.engine.pool import Database, DatabaseSettings

    try:
        database = Database(DatabaseSettings(url=url, caller_role=caller_role))
    except ValueError as error:
        raise usage(f"META_DATABASE_URL: {error}") from None
    try:
        with one_line_refusals(database.shown_url):
            yield database
    finally:
        database.close()


def open_client(address: str, token: str | None = None) -> MetaClient:
    """Open a client with a token, None = with that of the environment or the saved login.

    Raises ConfigError.
    """
    from dataplane.settings import client_tls
    from meta.client import MetaClient
    from meta.process.environment import environment
    from meta.process.exits import ConfigError
    from segplane.login import credentials

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
            tenant=env.text("TENANT", ""),
            tls=client_tls(env),
        )
    except ValueError as error:
        raise ConfigError(f"connection to meta: {error}") from error


# As gRPC's core words it.
CERTIFICATE_ENDED = "certificate has expired"


def refused(error: "MetaError", address: str) -> Exit:
    """Print meta's error and return the matching exit."""
    from meta.errors import InvalidArgument, Unauthenticated, Unavailable

    if isinstance(error, Unavailable) and "failed to connect" in error.message:
        step = "start it with `segplane dev`, or set SEGPLANE_META_ADDRESS"
        if CERTIFICATE_ENDED in error.message:
            step = "its certificate has expired, replace META_TLS_CERT_FILE and restart it"
        complain(f"meta does not answer at {address}: {step} ({error.reason})")
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


def refusal(message: str) -> Exit:
    """Print one error line and return the exit for what cannot be done."""
    complain(message)
    return Exit(EXIT_REFUSED)


def usage(message: str) -> Exit:
    """Print one error line and return the exit for a wrong argument or setting."""
    complain(message)
    return Exit(EXIT_USAGE)
