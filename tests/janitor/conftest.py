"""A janitor's tools over a real meta with no grace and a folder as object store."""

from dataclasses import replace
from pathlib import Path

import pytest

from janitor.config import Settings
from janitor.jobs import Tools
from meta import config
from meta.client import location
from meta.process.shutdown import Shutdown
from meta.v1.ingestion_pb2 import DownloadConfigRequest
from segments.location import Stores
from segments.store.open import open_store
from tests.support.meta.server import MetaServer


@pytest.fixture
def orphan_min_age() -> float:
    """No object is too young for an orphan; a test overrides it by a parameter."""
    return 0.0


@pytest.fixture
def meta_settings(meta_settings: config.Settings, orphan_min_age: float) -> config.Settings:
    """Let tombstoned segments go at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0, orphan_min_age=orphan_min_age)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def tools(meta_server: MetaServer, tmp_path: Path) -> Tools:
    """Dependencies of the jobs."""
    reply = meta_server.client.ingestion.DownloadConfig(DownloadConfigRequest(worker_id="test"))
    meta_location = location(reply.cloud_object_prefix.bucket)
    store = open_store(meta_location)
    store.probe()
    settings = Settings(meta_address=meta_server.address, upload_max_age_secs=0.0)
    return Tools(meta_server.client, store, Stores(meta_location), settings, Shutdown(), "janitor")
