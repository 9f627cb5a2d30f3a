"""Clients that keep a table beyond its grace: what each way of reading says to them."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import BadRequestError, SignError

from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, delete_table_metadata, delete_tombstoned
from meta.config import Settings
from meta.process.shutdown import Shutdown
from segments.location import StoreLocation, Stores
from segments.store.open import open_store
from segments.store.s3.missing_objects import MissingObjects
from segments.store.s3.signing import AccessKeys
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.clock import SettableClock
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.server import MetaServer
from tests.support.object_store.moto import fresh_location, running_moto
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

TOKEN = "the-token-of-this-gateway"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}
CATALOG = {"type": "rest", "token": TOKEN}
SIGNED_READS = {
    "header.X-Iceberg-Access-Delegation": "remote-signing",
    "py-io-impl": "tests.support.gateway.signed_reads.SignedReads",
}
SIGN = "iceberg/v1/namespaces/default/tables/web/sign"


@pytest.fixture
def meta_settings(
    meta_settings: Settings, versitygw_endpoint: str, aws_credentials: None
) -> Settings:
    """A bucket, and a grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes, location=fresh_location(versitygw_endpoint))


@pytest.fixture
def gateway(meta_server: MetaServer) -> Iterator[GatewayServer]:
    keys = AccessSettings(ACCESS_KEY, SECRET_KEY)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=keys)
    yield running
    running.close()


@pytest.fixture
def janitor(segments: SegmentWriter, meta_server: MetaServer) -> Tools:
    """Segments that can be merged, and the tools of their janitor."""
    for _ in range(4):
        segments.write(rows=2)
    store = open_store(meta_server.settings.location)
    return Tools(
        segments.client, store, Stores(store.location), JanitorSettings(), Shutdown(), "janitor"
    )


def supersede(janitor: Tools, folder: Path) -> None:
    """Merge the segments, and delete what nobody may read any more."""
    assert merge_all(janitor.meta, janitor.store, folder / "merges") == 1
    delete_tombstoned(janitor)
    delete_table_metadata(janitor)


def test_a_plan_at_an_expired_snapshot_says_so(
    gateway: GatewayServer, janitor: Tools, tmp_path: Path
) -> None:
    planned = {"scan-planning-mode": "server"}
    stale = load_catalog("p", uri=gateway.uri, **CATALOG, **planned).load_table("default.web")
    version = stale.metadata.current_snapshot_id
    supersede(janitor, tmp_path)

    with pytest.raises(BadRequestError, match=f"version {version} of 'web' has expired"):
        stale.scan(snapshot_id=version).plan_files()


def test_a_signature_for_what_was_deleted_is_refused_in_a_sentence(
    gateway: GatewayServer, janitor: Tools, meta_server: MetaServer, tmp_path: Path
) -> None:
    signing = load_catalog("s", uri=gateway.uri, **CATALOG, **SIGNED_READS)
    stale = signing.load_table("default.web")
    version = stale.metadata.current_snapshot_id
    location = meta_server.settings.location
    root = f"{location.endpoint}/{location.bucket}/"
    files = [task.file.file_path for task in stale.scan().plan_files()]
    supersede(janitor, tmp_path)
    gone = {f"version {version}": stale.metadata_location, "the version": files[0]}

    for which, path in gone.items():
        url = root + path.partition(f"{location.bucket}/")[2]
        body = {"method": "GET", "uri": url, "region": "us-east-1", "headers": {}}
        answer = gateway.post(SIGN, body, **KNOWN)
        assert answer.status == 404
        assert answer.message.startswith(f"{which} of this table that is read has expired")
        assert "load the table again" in answer.message
    # PyIceberg shows the status, not the sentence.
    with pytest.raises(SignError, match="Failed to sign request 404"):
        signing.load_table("default.web").io.new_input(stale.metadata_location).open()
    assert signing.load_table("default.web").scan().to_arrow().num_rows == 8


def test_signatures_do_not_wait_for_a_store_that_does_not_answer() -> None:
    clock = SettableClock()
    missing = MissingObjects(clock)
    keys = AccessKeys("id", "secret")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    location = StoreLocation("s3", url, "bucket", "us-east-1", "")
    assert not missing.is_missing(location, keys, f"{url}/bucket/a", "us-east-1")

    with running_moto() as url:
        there = StoreLocation("s3", url, "bucket", "us-east-1", "")
        assert not missing.is_missing(there, keys, f"{url}/bucket/a", "us-east-1")
        clock.now += 11.0
        assert missing.is_missing(there, keys, f"{url}/bucket/a", "us-east-1")


def test_an_object_that_was_there_a_moment_ago_is_not_asked_for_again(
    gateway: GatewayServer, janitor: Tools, meta_server: MetaServer
) -> None:
    url = gateway.table(**KNOWN).json["metadata-location"]
    location = meta_server.settings.location
    key = url.partition(f"{location.path}/")[2]
    url = f"{location.endpoint}/{location.bucket}/{location.path}/{key}"
    body = {"method": "GET", "uri": url, "region": "us-east-1", "headers": {}}
    assert gateway.post(SIGN, body, **KNOWN).status == 200

    janitor.store.delete([key])

    assert gateway.post(SIGN, body, **KNOWN).status == 200
