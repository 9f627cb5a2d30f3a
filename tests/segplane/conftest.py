"""The commands against a real meta, and a data folder for a stack."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from segplane.__main__ import app
from segplane.stack import config
from segplane.stack.config import StackSettings
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until


@pytest.fixture
def run(meta_server: MetaServer) -> RunCommand:
    """Give a function that runs a command against the meta under test."""
    Path("/", meta_server.settings.location.path).mkdir(exist_ok=True)

    def invoke(*arguments: str) -> Result:
        environment = {"SEGPLANE_META_ADDRESS": meta_server.address}
        return CliRunner().invoke(app, arguments, env=environment)

    return invoke


@pytest.fixture
def settings() -> Iterator[StackSettings]:
    """Give a data folder of its own, and free ports."""
    # Not under tmp_path: pytest keeps that closed to the user whom Postgres runs as under root.
    with tempfile.TemporaryDirectory(prefix="segplane-test-") as folder:
        Path(folder).chmod(0o711)
        yield StackSettings(
            data_dir=Path(folder, "data"),
            meta_port=0,
            otlp_grpc_port=0,
            otlp_http_port=0,
            gateway_port=0,
            inherited=config.inherited_environment(),
        )
        # What a test has killed ends its Postgres a little later, which writes until then.
        wait_until(lambda: not _postgres_runs(Path(folder)), "the end of its Postgres")


def _postgres_runs(folder: Path) -> bool:
    for file in folder.rglob("postmaster.pid"):
        with suppress(OSError):
            if is_alive(int(file.read_text().partition("\n")[0] or 0)):
                return True
    return False
