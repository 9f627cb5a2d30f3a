"""The commands against a real meta, and a data folder for a stack."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from meta.config import Settings
from segplane.__main__ import app
from segplane.stack.config import StackSettings
from tests.support.command_line import RunCommand
from tests.support.data_folders import made_cluster, stack_settings
from tests.support.events_once import bind_once
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Make the folder of the objects."""
    Path("/", meta_settings.location.path).mkdir(exist_ok=True)
    return meta_settings


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Collector of a dataset that is deduplicated; other modules override it."""
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    bind_once(collector.client, collector.dataset_id)
    return collector


@pytest.fixture
def run(meta_server: MetaServer) -> RunCommand:
    """Give a function that runs a command against the meta under test."""

    def invoke(*arguments: str) -> Result:
        environment = {"SEGPLANE_META_ADDRESS": meta_server.address}
        return CliRunner().invoke(app, arguments, env=environment)

    return invoke


@pytest.fixture
def settings() -> Iterator[StackSettings]:
    """Give an empty data folder, and free ports."""
    with stack_settings() as given:
        yield given


@pytest.fixture(scope="session")
def cluster() -> Iterator[Path]:
    """Make a migrated database of a stack, to be copied."""
    with made_cluster() as made:
        yield made


@pytest.fixture
def prepared(cluster: Path) -> Iterator[StackSettings]:
    """Give a data folder with a migrated database, and free ports."""
    with stack_settings(cluster) as given:
        yield given
