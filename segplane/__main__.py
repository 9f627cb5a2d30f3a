"""segplane: the command line."""

import sys
import warnings
from typing import Annotated, TextIO

import typer

from meta.process.installed import installed_release
from segplane.cli.commands import (
    access,
    audit,
    catalog,
    config,
    datasets,
    deletion,
    delivery,
    demo,
    fsck,
    iceberg,
    login,
    losses,
    pins,
    projections,
    quarantine,
    query,
    reading,
    rewrites,
    running,
    schemas,
    segments,
    spark_env,
    stats,
    streams,
    tasks,
    tokens,
    views,
    workers,
)
from segplane.query.errors import QueryWarning
from segplane.read.files.left_out import SegmentsLeftOut

HELP = """
A control plane for telemetry on object storage.

First steps: `segplane dev` runs Postgres, meta, a collector and the workers on this machine and
prints the OTLP endpoint and an ingest token. `segplane demo` sends this machine's logs through all
of it, from OTLP to compacted Parquet, and checks the result. `segplane test-send` says whether
records arrive.

Then `segplane datasets preview default` shows the newest records, `segplane sql` queries them, and
`segplane read default --format csv --output FILE` writes them to a file. `segplane segments find
--dataset default --start 1h --urls` lists the Parquet files of the last hour, `segplane iceberg
info` says how query engines read them as tables, `segplane streams list` shows what waits to be
merged, `segplane tasks explain` why a segment is or is not merged, and `segplane fsck` compares
meta with the object store.

Every other command calls a running meta: --meta-address or SEGPLANE_META_ADDRESS.
Exit codes: 0 success, 1 refused or failed, 2 wrong argument or setting, 3 meta is unreachable.
"""

app = typer.Typer(
    no_args_is_help=True,
    help=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("dev")(running.dev)
app.command("demo")(demo.demo)
app.command("serve")(running.serve)
app.command("migrate")(running.migrate)
app.add_typer(datasets.app, name="datasets")
app.add_typer(iceberg.app, name="iceberg")
app.add_typer(tokens.app, name="tokens")
app.add_typer(streams.app, name="streams")
app.add_typer(segments.app, name="segments")
app.add_typer(tasks.app, name="tasks")
app.add_typer(workers.app, name="workers")
app.add_typer(rewrites.app, name="rewrites")
app.add_typer(pins.app, name="pins")
app.add_typer(quarantine.app, name="quarantine")
app.add_typer(deletion.app, name="deletion")
app.add_typer(catalog.app, name="catalog")
app.add_typer(schemas.app, name="schemas")
app.add_typer(projections.app, name="projections")
app.add_typer(views.app, name="views")
app.command("query")(query.query)
app.add_typer(access.app, name="access")
app.command("read")(reading.read)
app.command("sql")(reading.sql)
app.command("test-send")(delivery.send_and_wait)
app.command("login")(login.login)
app.command("logout")(login.logout)
app.command("whoami")(login.whoami)
app.add_typer(audit.app, name="audit")
app.command("stats")(stats.stats)
app.command("fsck")(fsck.fsck)
app.command("losses")(losses.losses)
app.add_typer(config.app, name="config")
app.command("spark-env")(spark_env.spark_env)


@app.command()
def version() -> None:
    """Print the version."""
    print(installed_release())


def _end_with_version(is_requested: bool) -> None:
    if is_requested:
        version()
        raise typer.Exit


@app.callback(help=HELP)
def _options(
    is_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_end_with_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take the options that come before a command."""


_SHOWN = (SegmentsLeftOut, QueryWarning)


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    for category in _SHOWN:
        warnings.simplefilter("always", category)
    app()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of readers and queries as one line, and others as Python does."""
    if issubclass(category, _SHOWN):
        text = f"warning: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


if __name__ == "__main__":
    main()
