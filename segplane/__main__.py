"""segplane: the command line."""

import sys
import warnings
from typing import TextIO

import click

from segplane.cli.environment.profiles import VARIABLE
from segplane.cli.top_level import TopLevel

HELP = """
A control plane for telemetry on object storage.

First steps: `segplane dev` runs Postgres, meta, a collector and the workers on this machine and
prints the OTLP endpoint and an ingest token. `segplane demo` sends this machine's logs through all
of it, from OTLP to compacted Parquet, and checks the result. `segplane test-send` says whether
records arrive.

Then `segplane datasets preview default` shows the newest records, `segplane sql` queries them, and
`segplane read default --output logs.csv` writes them to a file. `segplane segments find
--dataset default --start 1h --urls` lists the Parquet files of the last hour, `segplane iceberg
info` says how query engines read them as tables, `segplane streams list` shows what waits to be
merged, `segplane tasks explain` why a segment is or is not merged, and `segplane fsck` compares
meta with the object store.

Every other command calls a running meta: --meta-address or SEGPLANE_META_ADDRESS.
Exit codes: 0 success, 1 refused or failed, 2 wrong argument or setting, 3 meta is unreachable.
"""


def _end_with_version(context: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        print(version("segplane"))
        context.exit()


app = TopLevel(
    "segplane",
    help=HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_end_with_version,
            help="Print the version.",
        ),
        click.Option(
            ["--profile"],
            metavar="NAME",
            envvar=VARIABLE,
            show_envvar=True,
            help="Connection that ~/.config/segplane/config.toml has by this name.",
        ),
    ],
)
# Warnings of readers and queries, by the names of their classes: they take long to import.
_SHOWN = ("SegmentsLeftOut", "QueryWarning", "RecordsAwaitReconcile")


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", UserWarning)
    app(prog_name="segplane")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of readers and queries as one line, and others as Python does."""
    if category.__name__ in _SHOWN:
        text = f"warning: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (file or sys.stderr).write(text)


if __name__ == "__main__":
    main()
