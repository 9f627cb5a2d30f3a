"""Gateways that die anywhere, share a table, or meet a client that keeps a table too long."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest
from structlog.testing import capture_logs

from dataplane.location import Locator
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, delete_table_metadata
from meta.client import MetaClient
from meta.config import Settings
from meta.process.environment import Environment
from meta.process.shutdown import Shutdown
from meta.v1 import operations_pb2 as pb
from segments.keys import TABLES_ROOT
from segments.location import Stores
from segments.store.open import open_store
from segplane.gateway import config
from segplane.gateway.http.readers import ALL_DATASETS
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg.tables import LoadedTable, Tables
from segplane.gateway.server import serve
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until
from tests.support.worker_process import WorkerProcess

SEGMENTS_MAX = 1_000


class Died(BaseException):
    """The process ended here."""


class Mortal:
    """A client of meta that dies at its n-th call, before it is sent or once it is answered."""

    def __init__(self, client: MetaClient, calls: int, *, is_answered: bool) -> None:
        self._client, self.left, self._is_answered = client, calls, is_answered

    def __getattr__(self, service: str) -> Any:
        stub = getattr(self._client, service)
        return SimpleNamespace(
            **{name: self._mortal(getattr(stub, name)) for name in vars(stub) if name[0] != "_"}
        )

    def _mortal(self, send: Any) -> Any:
        def call(request: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self._is_answered:
                raise Died
            reply = send(request, **options)
            if self.left == 0:
                raise Died
            return reply

        return call


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def client(meta_server: MetaServer) -> Iterator[MetaClient]:
    with MetaClient(meta_server.address) as client:
        yield client


def tables_over(client: Any) -> Tables:
    locator = Locator(client, "gateway")
    locator.ask()
    return Tables(TenantClients(client), locator, SEGMENTS_MAX)


def data_files(loaded: LoadedTable) -> list[set[str]]:
    """The paths of the data files of each snapshot, read as an engine does."""
    found = []
    for snapshot in json.loads(loaded.document.json_text)["snapshots"]:
        manifests = records(snapshot["manifest-list"])
        entries = [one for manifest in manifests for one in records(manifest["manifest_path"])]
        found.append({entry["data_file"]["file_path"] for entry in entries})
    return found


def records(url: str) -> list[Any]:
    with Path(url.removeprefix("file://")).open("rb") as file:
        return list(fastavro.reader(file))


@pytest.mark.parametrize("is_answered", [False, True], ids=["before", "after"])
def test_a_gateway_that_dies_at_any_call_leaves_a_table_that_others_read(
    segments: SegmentWriter, client: MetaClient, is_answered: bool
) -> None:
    deaths = 0
    while True:
        segments.write(rows=2)
        mortal = Mortal(client, deaths + 2, is_answered=is_answered)
        dying = tables_over(mortal)
        try:
            dying.load("web", ALL_DATASETS)
        except Died:
            deaths += 1
        else:
            break
        survivor = tables_over(client).load("web", ALL_DATASETS)
        assert len(data_files(survivor)[-1]) == segments.files
        assert Path(survivor.url.removeprefix("file://")).exists()

    assert deaths >= 8


def test_two_gateways_publish_the_same_version_once(
    segments: SegmentWriter, client: MetaClient
) -> None:
    first, second = tables_over(client), tables_over(client)
    for _ in range(3):
        segments.write(rows=2)
        mine, theirs = first.load("web", ALL_DATASETS), second.load("web", ALL_DATASETS)
        assert (mine.url, mine.document) == (theirs.url, theirs.document)

    versions = data_files(first.load("web", ALL_DATASETS))
    assert [len(paths) for paths in versions] == [1, 2, 3]


def test_metadata_is_deleted_after_the_grace_and_made_again(
    segments: SegmentWriter, client: MetaClient, meta_server: MetaServer
) -> None:
    store = open_store(meta_server.settings.location)
    tools = Tools(client, store, Stores(store.location), JanitorSettings(), Shutdown(), "janitor")
    tables = tables_over(client)
    segments.write(rows=2)
    stale = tables.load("web", ALL_DATASETS)
    segments.write(rows=2)
    fresh = tables.load("web", ALL_DATASETS)

    delete_table_metadata(tools)

    # Objects of the newest snapshot stay; the documents and the older snapshot go. The list
    # names one manifest, or two if the first file's id, which is random, ends a manifest.
    newest = json.loads(fresh.document.json_text)["snapshots"][-1]["manifest-list"]
    kept = {newest, *(manifest["manifest_path"] for manifest in records(newest))}
    assert {f"{store.location.root}/{listed.key}" for listed in store.list(TABLES_ROOT)} == kept
    assert not Path(stale.url.removeprefix("file://")).exists()
    again = tables.load("web", ALL_DATASETS)
    assert again.document.versions == fresh.document.versions[1:]
    assert len(data_files(again)[-1]) == 2
    assert Path(again.url.removeprefix("file://")).exists()


def test_a_gateway_uses_no_manifest_that_was_deleted_and_written_again(
    segments: SegmentWriter, client: MetaClient, meta_server: MetaServer
) -> None:
    """The same manifest has another key by then, and the gateway remembers the former one."""
    store = open_store(meta_server.settings.location)
    tools = Tools(client, store, Stores(store.location), JanitorSettings(), Shutdown(), "janitor")
    idle, busy = tables_over(client), tables_over(client)
    segments.write(rows=2)
    idle.load("web", ALL_DATASETS)
    second = segments.write(rows=2)
    busy.load("web", ALL_DATASETS)
    hide(client, second)
    delete_table_metadata(tools)
    busy.load("web", ALL_DATASETS)
    segments.write(day=40, rows=2)

    loaded = idle.load("web", ALL_DATASETS)

    assert len(data_files(loaded)[-1]) == 2


def hide(client: MetaClient, segment_id: str) -> None:
    """Hide a damaged segment for good."""
    acceptance = pb.LossAcceptance(accept_loss=True, actor="op", reason="a flipped byte")
    client.operations.HideSegment(
        pb.HideSegmentRequest(segment_id=segment_id, acceptance=acceptance)
    )


def test_a_table_is_read_after_a_segment_was_hidden(
    segments: SegmentWriter, client: MetaClient
) -> None:
    segments.write(rows=2)
    hide(client, segments.write(rows=2))

    assert [len(paths) for paths in data_files(tables_over(client).load("web", ALL_DATASETS))] == [
        1
    ]


@pytest.mark.long
def test_a_gateway_process_drains_at_sigterm(
    segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=2)
    environment = {"GATEWAY_META_ADDRESS": meta_server.address, "GATEWAY_BIND": "127.0.0.1:0"}
    process = WorkerProcess("segplane.gateway", environment)
    process.wait_for("gateway_started")

    assert process.terminate() == 0
    assert process.has_logged("gateway_stopped")


def test_a_gateway_drains_however_late_its_shutdown_is_noticed(meta_server: MetaServer) -> None:
    """A signal sets the event by another thread: once the server has begun, or long after it."""
    values = {"GATEWAY_META_ADDRESS": meta_server.address, "GATEWAY_BIND": "127.0.0.1:0"}
    settings = config.load(Environment("GATEWAY_", values))
    early, late = Shutdown(), Shutdown()
    early.request()
    serve(settings, early)
    with capture_logs() as logs:
        running = threading.Thread(target=serve, args=(settings, late), daemon=True)
        running.start()
        wait_until(lambda: has_event(logs, "gateway_started"), "a gateway that serves")
        late.request()
        running.join(60)

    assert not running.is_alive()
    assert has_event(logs, "gateway_stopped")


def has_event(logs: list[Any], event: str) -> bool:
    """Whether an event was logged."""
    return any(entry["event"] == event for entry in logs)
