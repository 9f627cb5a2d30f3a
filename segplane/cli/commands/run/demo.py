"""segplane demo: ingest, merge, compact and query real log files, start to finish."""

import importlib.util
import shutil
import tempfile
from pathlib import Path

from segplane.cli.command import command, group
from segplane.cli.connection import usage

app = group()


@command(app, "demo --data-dir demo-data")
def demo(data_dir: Path | None = None, keep: bool = False) -> None:
    """Ingest this machine's logs and Segplane's own telemetry, and check every record.

    Starts its own stack, compacts, queries with DuckDB before and after, and runs fsck.

    Options:
        data_dir: Keep the data in this folder; by default it is removed.
        keep: Keep the data, and leave the stack running until Ctrl-C: its console shows the records
            and an example of traces.
    """
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        raise usage("the demo needs every part of Segplane: pip install 'segplane-server[all]'")
    # Imported here, because no other command needs DuckDB and OpenTelemetry.
    from segplane.cli.demo.run import run

    folder = data_dir or Path(tempfile.mkdtemp(prefix="segplane-demo-"))
    try:
        run(folder, keep=keep)
    finally:
        if data_dir is None and not keep:
            shutil.rmtree(folder, ignore_errors=True)
