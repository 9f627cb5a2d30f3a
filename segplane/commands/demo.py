"""segplane demo: the main job on real input, start to finish."""

import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from segplane.connection import usage


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep everything here; otherwise it is removed.")
    ] = None,
) -> None:
    """Send this machine's logs and our own telemetry all the way, and prove none is lost."""
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        raise usage("the demo needs every part of Segplane: pip install 'segplane[all]'")
    # Late, because no other command needs DuckDB and OpenTelemetry.
    from segplane.demo.run import run

    folder = data_dir or Path(tempfile.mkdtemp(prefix="segplane-demo-"))
    try:
        run(folder)
    finally:
        if data_dir is None:
            shutil.rmtree(folder, ignore_errors=True)
