"""A meta with a named store beside the default one, both of them folders."""

from dataclasses import replace
from pathlib import Path

import pytest

from meta import config
from segments.location import NamedStore, StoreLocation
from tests.support.meta.server import MetaServer
from tests.support.placement.two_stores import COLD, Placement


@pytest.fixture
def meta_settings(meta_settings: config.Settings, tmp_path: Path) -> config.Settings:
    """Give meta a second folder as a named store; tombstones may go at once."""
    for name in ("objects", COLD):
        (tmp_path / name).mkdir(exist_ok=True)
    cold = NamedStore(COLD, StoreLocation.from_url((tmp_path / COLD).as_uri()))
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0, orphan_min_age=0.0)
    return replace(meta_settings, named_stores=(cold,), lifetimes=lifetimes)


@pytest.fixture
def placement(meta_server: MetaServer, tmp_path: Path) -> Placement:
    """Give a dataset whose records a nursery merges."""
    return Placement.of(meta_server, tmp_path)
