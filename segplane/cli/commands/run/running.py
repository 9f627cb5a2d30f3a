"""segplane dev and migrate: commands that run processes on this machine."""

import contextlib
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import DEFAULT_ADDRESS, open_database, usage
from segplane.cli.options import DataDir
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR, PORT_MAX

if TYPE_CHECKING:
    from segplane.stack.dev import Stack

app = group()
Port = Annotated[int, Option(min=0, max=PORT_MAX, help="Port; 0 = any free one.")]
MetaPort = Annotated[
    int | None,
    Option(
        min=0,
        max=PORT_MAX,
        help="Port of meta, 0 = any free one; unset: META_BIND's, or 9500.",
    ),
]
MetaHost = Annotated[
    str | None,
    Option(help="Address that meta listens on; unset: META_BIND's, or 127.0.0.1."),
]
DatabaseUrl = Annotated[
    str,
    Option(
        envvar="META_DATABASE_URL", help="libpq URL of a Postgres server; empty = the embedded one."
    ),
]
CallerRole = Annotated[
    str,
    Option(
        envvar="META_DATABASE_CALLER_ROLE",
        help="Postgres role of the work of tenants' callers; empty = none, or the embedded one's.",
    ),
]
StoreUrl = Annotated[
    str,
    Option(
        envvar=["META_OBJECT_STORE_URL", "SEGPLANE_OBJECT_STORE_URL"],
        help="s3://bucket/path?endpoint=...; empty = a folder in --data-dir.",
    ),
]
NamedStoreUrls = Annotated[
    str,
    Option(
        "--object-stores",
        envvar="META_OBJECT_STORES",
        help="Further stores: NAME=URL, separated by commas.",
    ),
]
UnsafeGrace = Annotated[
    bool,
    Option(
        "--unsafe-short-grace",
        help="Delete merged inputs after seconds, under running queries too.",
    ),
]
SelfTelemetry = Annotated[
    bool,
    Option(help="Send the telemetry of all these processes to the dataset segplane."),
]
Metrics = Annotated[
    bool,
    Option(help="Serve metrics of each process, and write a file of targets for Prometheus."),
]
ConsoleChanges = Annotated[
    bool,
    Option(help="Let the console change things, with the gateway's rights."),
]
DEV_BANNER = """
Send OTLP to    {http}  (HTTP)
                {grpc}  (gRPC)
Ingest token    {token}
                kept in {token_path}
                try: segplane test-send{folder_hint}{hint}

  export OTEL_EXPORTER_OTLP_ENDPOINT={http}
  export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer {token}"

{console}Queries         http://{gateway}/v1/query  (KQL, SQL)
                try: segplane query{hint} 'default | take 10'
Iceberg         http://{gateway}/iceberg
                try: segplane iceberg info{folder_hint}{hint}
meta            {meta}
                try: segplane status{hint}
                     segplane segments find{hint}
{metrics}{telemetry}logs            {logs}
Ctrl-C stops everything; the data stays in {data_dir}.
"""
CONSOLE_LINES = """Console         {address}
                opens once, within ten minutes; another: segplane console{folder_hint}
"""
_NO_COLLECTOR = "--self-telemetry needs a collector, which --meta-only does not start"
TELEMETRY_LINES = """own telemetry   dataset segplane, {kept}
                try: segplane query{hint} '{query}'
"""
TELEMETRY_QUERY = "segplane | summarize records = count() by signal, service_name"
METRICS_LINES = """metrics         {targets}
                targets of file_sd_configs in Prometheus
"""
SERVE_BANNER = """
meta            {meta}
                try: segplane datasets list{hint}
{metrics}logs            {logs}
Ctrl-C stops it; the data stays in {data_dir}.
"""


@command(app, "dev --data-dir segplane-data")
def dev(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    meta_port: MetaPort = None,
    host: MetaHost = None,
    otlp_grpc_port: Port = 4317,
    otlp_http_port: Port = 4318,
    gateway_port: Port = 9580,
    database_url: DatabaseUrl = "",
    object_store_url: StoreUrl = "",
    unsafe_short_grace: UnsafeGrace = False,
    self_telemetry: SelfTelemetry = False,
    metrics: Metrics = False,
    console_changes: ConsoleChanges = False,
    meta_only: bool = False,
) -> None:
    """Run Postgres, meta, a collector, a gateway and the workers on this machine until Ctrl-C.

    Prints OTLP endpoints, an ingest token and the console's address once all is ready (20 s).

    Options:
        meta_only: Run meta alone, on the embedded Postgres or META_DATABASE_URL.
    """
    from segplane.cli.console import run_until_signal
    from segplane.cli.environment.process_settings import require_valid
    from segplane.stack import config
    from segplane.stack.dev import PARTS, Stack

    inherited = config.inherited_environment()
    if self_telemetry:
        _require_destination(inherited, meta_only)
    meta_host, meta_port = config.meta_endpoint(inherited, host, meta_port)
    settings = config.StackSettings(
        data_dir=data_dir,
        meta_host=meta_host,
        meta_port=meta_port,
        otlp_grpc_port=otlp_grpc_port,
        otlp_http_port=otlp_http_port,
        gateway_port=gateway_port,
        database_url=database_url,
        object_store_url=object_store_url,
        is_unsafe_grace=unsafe_short_grace,
        has_self_telemetry=self_telemetry,
        has_metrics=metrics,
        has_console_changes=console_changes,
        inherited=inherited,
    )
    parts = () if meta_only else PARTS
    require_valid(settings, parts)
    banner = _serve_banner if meta_only else _dev_banner
    run_until_signal(lambda report, stop: Stack(settings, report, stop, parts), banner)


@command(app, "migrate --database-url postgresql://segplane@db/segplane")
def migrate(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    database_url: DatabaseUrl = "",
    caller_role: CallerRole = "",
    finish: bool = False,
) -> None:
    """Upgrade the database to this release's schema, as meta does at start.

    Options:
        finish: Then let no meta of an earlier release serve the database any more, which groups and
            locks need. Refused while one was seen in the last five minutes; cannot be undone.
    """
    from meta import migrations
    from segplane.stack import config, preflight
    from segplane.stack.postgres import EmbeddedPostgres

    with contextlib.ExitStack() as exits:
        if not database_url:
            preflight.make_data_dir(data_dir)
            postgres = EmbeddedPostgres(data_dir / "postgres", log=print)
            database_url = exits.enter_context(postgres).url
            caller_role = caller_role or config.EMBEDDED_CALLER_ROLE
        with open_database(database_url, caller_role) as database:
            print(f"schema is at revision {migrations.upgrade(database)}")
            if finish:
                is_raised = migrations.finish(database)
                print(f"the upgrade {'is finished' if is_raised else 'was finished before'}")


def _require_destination(inherited: Mapping[str, str], meta_only: bool) -> None:
    """Raise UsageError if the processes cannot send their telemetry to their own collector."""
    from segplane.stack.self_telemetry import why_not

    if refusal := _NO_COLLECTOR if meta_only else why_not(inherited):
        raise usage(refusal)


def _dev_banner(stack: "Stack") -> str:
    settings = stack.settings
    return DEV_BANNER.format(
        http=settings.otlp_http_url,
        grpc=settings.otlp_grpc_address,
        token=stack.token,
        token_path=settings.token_path,
        gateway=settings.gateway_bind,
        console=_console_lines(stack) if settings.takes_codes else "",
        meta=settings.meta_address,
        hint=_address_hint(stack),
        folder_hint=_folder_hint(stack),
        metrics=_metrics_lines(stack),
        telemetry=_telemetry_lines(stack) if settings.has_self_telemetry else "",
        logs=stack.log_dir,
        data_dir=settings.data_dir,
    )


def _console_lines(stack: "Stack") -> str:
    from segplane.stack.console import address_of

    settings = stack.settings
    return CONSOLE_LINES.format(
        address=address_of(settings.gateway_bind, settings.console_key_path),
        folder_hint=_folder_hint(stack),
    )


def _telemetry_lines(stack: "Stack") -> str:
    days = stack.telemetry_retention / timedelta(days=1)
    return TELEMETRY_LINES.format(
        kept=f"kept for {days:g} days" if days else "kept without limit",
        hint=_address_hint(stack),
        query=TELEMETRY_QUERY,
    )


def _serve_banner(stack: "Stack") -> str:
    settings = stack.settings
    return SERVE_BANNER.format(
        meta=settings.meta_address,
        hint=_address_hint(stack),
        metrics=_metrics_lines(stack),
        logs=stack.log_dir,
        data_dir=settings.data_dir,
    )


def _metrics_lines(stack: "Stack") -> str:
    from segplane.stack.metrics_targets import path_in

    settings = stack.settings
    return METRICS_LINES.format(targets=path_in(settings.data_dir)) if settings.has_metrics else ""


def _folder_hint(stack: "Stack") -> str:
    folder = stack.settings.data_dir
    return "" if folder == DEFAULT_DATA_DIR.absolute() else f" --data-dir {folder}"


def _address_hint(stack: "Stack") -> str:
    address = stack.settings.meta_address
    return "" if address == DEFAULT_ADDRESS else f" --meta-address {address}"
