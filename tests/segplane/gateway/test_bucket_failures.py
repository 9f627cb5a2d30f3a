"""Mistakes and failures over a bucket as PyIceberg shows them: one clear sentence each."""

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    BadRequestError,
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
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import (
    DroppedConnection,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
)
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

TOKEN = "the-token-of-this-gateway"
KEYS = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}
# Clients of some engines wait for an answer no longer.
ANSWER_SECS_MAX = 25.0


@pytest.fixture
def meta_settings(meta_settings: Settings, store: FaultyProxy) -> Settings:
    """A bucket, and a grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes, location=fresh_location(store.url))


def open_catalog(gateway: GatewayServer) -> Catalog:
    return load_catalog("segplane", type="rest", uri=gateway.uri, token=TOKEN, **KEYS)


@pytest.mark.long
def test_what_goes_wrong_over_a_bucket_is_one_sentence(
    segments: SegmentWriter,
    meta_server: MetaServer,
    meta_settings: Settings,
    tmp_path: Path,
) -> None:
    away = server.start(meta_settings)
    ending = ExitStack()
    ending.callback(away.stop, 1.0)
    gateway = GatewayServer(f"127.0.0.1:{away.port}", auth_token=TOKEN)
    try:
        for _ in range(4):
            segments.write(rows=2)
        dataset = CatalogDriver(segments.client).dataset("other")
        replace(segments, dataset=dataset).write(rows=2)
        catalog = open_catalog(gateway)
        stale = catalog.load_table("default.web")
        version = stale.metadata.current_snapshot_id
        rows = stale.scan().to_arrow().num_rows
        bucket = open_store(meta_server.settings.location)
        assert merge_all(segments.client, bucket, tmp_path / "merges") >= 1
        stores, own = Stores(bucket.location), JanitorSettings()
        janitor = Tools(segments.client, bucket, stores, own, Shutdown(), "janitor")
        delete_tombstoned(janitor)
        delete_table_metadata(janitor)

        with pytest.raises(NoSuchTableError, match="there is no table 'none'"):
            catalog.load_table("default.none")
        with pytest.raises(BadRequestError, match=f"version {version} of 'web' has expired"):
            catalog.load_table(f"default.web@{version}")
        with (
            pytest.raises(NotImplementedError, match="Server does not support endpoint"),
            stale.transaction() as change,
        ):
            change.set_properties(owner="me")
        with pytest.raises(UnauthorizedError, match="set `token` in the catalog's properties"):
            load_catalog("segplane", type="rest", uri=gateway.uri, token="another", **KEYS)
        # The store's answer: the gateway is not asked.
        with pytest.raises(FileNotFoundError):
            stale.scan().to_arrow()
        assert catalog.load_table("default.web").scan().to_arrow().num_rows == rows

        ending.close()
        with pytest.raises(ServiceUnavailableError, match="the metadata server cannot answer now"):
            catalog.load_table("default.other")
    finally:
        gateway.close()
        ending.close()


@pytest.mark.slow
def test_a_bucket_that_is_away_is_one_sentence_before_clients_have_left(
    segments: SegmentWriter, meta_server: MetaServer, store: FaultyProxy
) -> None:
    segments.write(rows=2)
    gateway = GatewayServer(meta_server.address, auth_token=TOKEN)
    try:
        catalog = open_catalog(gateway)
        store.fault = drop
        began = time.monotonic()

        with pytest.raises(ServiceUnavailableError, match="the object store cannot be used now"):
            catalog.load_table("default.web")

        assert time.monotonic() - began < ANSWER_SECS_MAX
        store.mend()
        assert catalog.load_table("default.web").scan().to_arrow().num_rows == 2
    finally:
        gateway.close()


def drop(_: Request, __: Forward) -> ProxyAnswer:
    """Close a connection without an answer."""
    raise DroppedConnection
