"""Commands and readers with a list of metas, of which the one that they try first is dead."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from segplane.read import open_dataset
from segplane.read.spark.options import read_options
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

# Nobody listens there.
DEAD = "127.0.0.1:1"


@pytest.fixture
def addresses(meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give a list whose first address is tried first, and is dead."""
    monkeypatch.setattr("random.choice", lambda options: options[0])
    return f"{DEAD},{meta_server.address}"


@pytest.mark.parametrize(
    "command",
    [
        ("datasets", "list"),
        ("fsck",),
        ("access", "create", "--subject", "reader-1", "--role", "reader"),
    ],
    ids=" ".join,
)
def test_commands_go_on_at_another_meta(addresses: str, command: tuple[str, ...]) -> None:
    by_option = CliRunner().invoke(app, [*command, "--meta-address", addresses])
    by_setting = CliRunner().invoke(app, command, env={"SEGPLANE_META_ADDRESS": addresses})

    assert by_option.exit_code == 0, by_option.output
    assert by_setting.exit_code == 0, by_setting.output


def test_a_wrong_list_is_a_wrong_argument() -> None:
    refused = CliRunner().invoke(app, ["datasets", "list", "--meta-address", "a:9500,b"])

    assert refused.exit_code == 2
    assert "'b' in 'a:9500,b' has no port" in refused.output


def test_readers_go_on_at_another_meta(
    addresses: str, meta_server: MetaServer, tmp_path: Path
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    SegmentWriter(meta_server.client, dataset, tmp_path).write()

    with open_dataset("web", meta_address=addresses) as opened:
        assert opened.to_table().num_rows
    # Spark's source opens its client by its options.
    options = read_options({"dataset": "web", "metaAddress": addresses})
    with options.client() as client:
        assert client.target == addresses
