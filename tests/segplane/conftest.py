"""The commands against a real meta."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from segplane.__main__ import app
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer


@pytest.fixture
def run(meta_server: MetaServer) -> RunCommand:
    """Give a function that runs a command against the meta under test."""
    Path("/", meta_server.settings.location.path).mkdir(exist_ok=True)

    def invoke(*arguments: str) -> Result:
        environment = {"SEGPLANE_META_ADDRESS": meta_server.address}
        return CliRunner().invoke(app, arguments, env=environment)

    return invoke
