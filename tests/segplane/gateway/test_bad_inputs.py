"""Mistakes and failures as PyIceberg shows them to its user: one clear sentence each."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    BadRequestError,
    NoSuchNamespaceError,
    NoSuchTableError,
    ServiceUnavailableError,
    UnauthorizedError,
)

from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, delete_table_metadata, delete_tombstoned
from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.server import server
from segments.location import Stores
from segments.store.open import open_store
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def merged(segments: SegmentWriter, meta_server: MetaServer) -> Tools:
    """A dataset whose segments can be merged, and the tools of its janitor."""
    store = open_store(meta_server.settings.location)
    for _ in range(4):
        segments.write(rows=2)
    return Tools(
        segments.client, store, Stores(store.location), JanitorSettings(), Shutdown(), "janitor"
    )


def test_unknown_names_are_named(gateway: GatewayServer, segments: SegmentWriter) -> None:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)

    with pytest.raises(NoSuchTableError, match="there is no table 'none'"):
        catalog.load_table("default.none")
    with pytest.raises(NoSuchNamespaceError, match="no namespace 'other'"):
        catalog.list_tables("other")
    with pytest.raises(BadRequestError, match="the current version is"):
        catalog.load_table("default.web@999999")
    assert segments.files == 0


def test_a_wrong_token_is_answered_with_what_to_do(meta_server: MetaServer) -> None:
    gateway = GatewayServer(meta_server.address, auth_token="a-long-secret")

    with pytest.raises(UnauthorizedError, match="set `token` in the catalog's properties"):
        load_catalog("segplane", type="rest", uri=gateway.uri, token="another")

    gateway.close()


def test_an_expired_version_and_a_stale_table_say_so(
    gateway: GatewayServer, segments: SegmentWriter, merged: Tools, tmp_path: Path
) -> None:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
    stale = catalog.load_table("default.web")
    version = stale.metadata.current_snapshot_id
    assert merge_all(merged.meta, merged.store, tmp_path / "merges") == 1
    delete_tombstoned(merged)
    delete_table_metadata(merged)

    with pytest.raises(BadRequestError, match=f"version {version} of 'web' has expired"):
        catalog.load_table(f"default.web@{version}")
    with pytest.raises(FileNotFoundError):
        stale.scan().to_arrow()
    assert catalog.load_table("default.web").scan().to_arrow().num_rows == len(segments.rows)


def test_a_missing_store_is_one_sentence(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=2)
    shutil.rmtree(Path("/", meta_server.settings.location.path))

    with pytest.raises(ServiceUnavailableError, match="the object store cannot be used now"):
        load_catalog("segplane", type="rest", uri=gateway.uri).load_table("default.web")


def test_a_missing_meta_is_one_sentence(meta_settings: Settings) -> None:
    meta = server.start(meta_settings)
    gateway = GatewayServer(f"127.0.0.1:{meta.port}")
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
    meta.stop(1.0)

    with pytest.raises(ServiceUnavailableError, match="metadata server cannot answer now"):
        catalog.load_table("default.web")

    gateway.close()
