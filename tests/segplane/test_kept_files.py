"""Datasets that are deleted with --keep-files: the catalog forgets them, their objects stay."""

import json
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from dataplane.location import ask_location
from dataplane.object_checks import list_stored
from janitor import jobs
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools
from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, Unavailable, UndeleteExpired, VersionExpired
from meta.process.shutdown import Shutdown
from meta.server import server
from meta.store.deletion import dataset_deletion, kept_files
from meta.v1 import catalog_pb2, operations_pb2, segment_lookup_pb2
from meta.watches.rounds import Rounds
from segments.keys import new_merged_key
from segments.location import NamedStore, StoreLocation
from segments.markers import mark_kept
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores
from segplane.__main__ import app
from segplane.recovery import reconcile
from tests.support.command_line import RunCommand
from tests.support.merge_worker.case import Case
from tests.support.meta.dataset_life import undelete
from tests.support.meta.pins import PinDriver
from tests.support.meta.server import MetaServer

COLD = "cold"


@pytest.fixture
def meta_settings(meta_settings: Settings, tmp_path: Path) -> Settings:
    """Two stores, and graces that are over at once."""
    (tmp_path / "objects").mkdir(exist_ok=True)
    (tmp_path / COLD).mkdir(exist_ok=True)
    lifetimes = replace(
        meta_settings.lifetimes, dataset_grace=0.0, tombstone_grace=0.0, orphan_min_age=0.0
    )
    cold = NamedStore(COLD, StoreLocation.from_url((tmp_path / COLD).as_uri()))
    return replace(meta_settings, lifetimes=lifetimes, named_stores=(cold,))


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    """A dataset with two segments in the default store and one in the other."""
    case = Case(meta_client, tmp_path)
    for seed in (1, 2):
        case.save(seed)
    location, like = ask_location(meta_client, "test"), case.find()[0]
    key = new_merged_key(case.dataset_id, COLD)
    open_stores(location.stores).put_if_absent(key, case.store.get(case.key(like)))
    case.bucket = location.bucket_of(key)
    case.register(key, like)
    return case


@pytest.fixture
def watch(meta_server: MetaServer) -> Rounds:
    return Rounds(meta_server.running.database, meta_server.settings, Shutdown())


def purge(meta_server: MetaServer) -> int:
    transactions = Transactions(meta_server.running.database)
    return transactions.write(lambda tx: dataset_deletion.purge(tx, 0.0))


def delete(client: MetaClient, case: Case) -> None:
    request = catalog_pb2.DeleteDatasetRequest(id=case.dataset_id, keep_files=True)
    assert client.catalog.DeleteDataset(request).keeps_files


def everything(client: MetaClient) -> ObjectStore:
    return open_stores(ask_location(client, "test").stores)


def keys(client: MetaClient) -> list[str]:
    return [info.key for info in everything(client).list("dataset/")]


def collect(client: MetaClient, address: str) -> None:
    """Run every job of the janitor that deletes objects."""
    stores = ask_location(client, "test").stores
    settings = JanitorSettings(meta_address=address)
    tools = Tools(client, open_stores(stores), stores, settings, Shutdown(), "janitor")
    jobs.delete_tombstoned(tools)
    jobs.collect_orphans(tools)


def num_rows(meta_server: MetaServer) -> int:
    with meta_server.running.database.read() as tx:
        return int(tx.exec_driver_sql("SELECT count(*) FROM segments").scalar_one())


def fsck(run: RunCommand) -> dict[str, object]:
    result = run("fsck", "--json", "--orphan-age-secs", "0")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    return {name: report[name] for name in ("kept", "orphans", "segments")}


def test_the_files_stay_in_all_stores_and_nothing_else_of_the_dataset(
    run: RunCommand, meta_server: MetaServer, case: Case, watch: Rounds
) -> None:
    client = meta_server.client
    version = case.client.segment_lookup.FindSegments(
        segment_lookup_pb2.FindSegmentsRequest(dataset_names=[case.name])
    ).snapshot_version
    # No row tells what a writer left there from the dataset's own files.
    case.store.put_if_absent(new_merged_key(case.dataset_id), case.store.get(keys(client)[0]))
    expected = keys(client)

    deleted = run("datasets", "delete", case.name, "--keep-files")
    watch.note_kept_files()
    assert num_rows(meta_server) == 3
    assert purge(meta_server) == 0
    watch.note_kept_files()
    collect(client, meta_server.address)

    assert f"dataset/{case.dataset_id}/merged/" in deleted.stdout
    assert keys(client) == expected
    assert num_rows(meta_server) == 0
    assert not list_stored(client, "", limit=10, since=0).objects
    size_bytes = sum(info.size_bytes for info in everything(client).list("dataset/"))
    kept = {"dataset_id": case.dataset_id, "name": case.name, "objects": 4, "is_live": False}
    assert fsck(run) == {"kept": [kept | {"size_bytes": size_bytes}], "orphans": [], "segments": 0}
    assert "kept: 4 files" in run("fsck").stdout
    request = segment_lookup_pb2.FindSegmentsRequest(
        dataset_names=[case.name], as_of_version=version
    )
    with pytest.raises((VersionExpired, NotFound)):
        client.segment_lookup.FindSegments(request)
    with pytest.raises(UndeleteExpired):
        undelete(client, case.dataset_id)
    report = reconcile.run(meta_server.running.database, everything(client), is_dry_run=False)
    assert report.is_all_back
    assert num_rows(meta_server) == 0


def test_a_catalog_rebuilt_from_the_bucket_leaves_kept_files_out(
    run: RunCommand,
    meta_server: MetaServer,
    case: Case,
    watch: Rounds,
    empty_database_url: str,
    tmp_path: Path,
) -> None:
    other = Case(meta_server.client, tmp_path)
    other.save(3)
    delete(meta_server.client, case)
    purge(meta_server)
    watch.note_kept_files()
    expected = keys(meta_server.client)
    url = meta_server.settings.location.url()
    arguments = ("--object-store-url", url, "--database-url", empty_database_url, "--apply")
    cold = f"{COLD}={(tmp_path / COLD).as_uri()}"
    command = ("catalog", "rebuild", "--from-bucket", *arguments, "--object-stores", cold, "--json")

    result = CliRunner().invoke(app, command)

    assert result.exit_code == 0, result.output
    assert case.dataset_id not in json.loads(result.stdout)["datasets"]
    settings = meta_server.settings
    database = replace(settings.database, url=empty_database_url)
    rebuilt = server.start(replace(settings, bind="127.0.0.1:0", database=database))
    try:
        address = f"127.0.0.1:{rebuilt.port}"
        with MetaClient(address) as client:
            found = CliRunner().invoke(
                app, ["fsck", "--json"], env={"SEGPLANE_META_ADDRESS": address}
            )
            assert found.exit_code == 0, found.output
            (kept,) = json.loads(found.stdout)["kept"]
            assert (kept["dataset_id"], kept["objects"]) == (case.dataset_id, 3)
            client.operations.ReleaseDeletionHold(operations_pb2.ReleaseDeletionHoldRequest())
            collect(client, address)
            assert reconcile.run(rebuilt.database, everything(client), is_dry_run=False).is_all_back
            assert keys(client) == expected
    finally:
        rebuilt.stop(2.0)


def test_no_row_goes_before_the_bucket_notes_the_dataset(
    meta_server: MetaServer, case: Case, watch: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deaths after each step: of a round that had no bucket, after the note, between two pages."""
    transactions = Transactions(meta_server.running.database)
    nowhere = StoreLocation.from_url("file:///no/such/folder")
    settings = replace(meta_server.settings, location=nowhere)
    broken = Rounds(transactions.database, settings, Shutdown())
    delete(meta_server.client, case)
    purge(meta_server)

    with pytest.raises(Unavailable):
        broken.note_kept_files()
    assert num_rows(meta_server) == 3
    mark_kept(open_store(meta_server.settings.location), case.dataset_id, case.name)
    monkeypatch.setattr(kept_files, "SEGMENTS_AT_ONCE", 1)
    transactions.write(lambda tx: kept_files.mark_noted(tx, UUID(case.dataset_id)))
    assert transactions.write(lambda tx: kept_files.forget(tx, 0.0))
    assert num_rows(meta_server) == 2
    collect(meta_server.client, meta_server.address)
    watch.note_kept_files()

    assert num_rows(meta_server) == 0
    assert len(keys(meta_server.client)) == 3


def test_a_pin_holds_the_rows_of_kept_files(
    meta_server: MetaServer, case: Case, watch: Rounds
) -> None:
    pins = PinDriver(meta_server.client)
    pin = pins.take(case.name)
    delete(meta_server.client, case)
    purge(meta_server)

    watch.note_kept_files()
    assert num_rows(meta_server) == 3
    pins.release(pin)
    watch.note_kept_files()

    assert num_rows(meta_server) == 0


def test_an_undeleted_dataset_keeps_nothing_apart(
    run: RunCommand, meta_server: MetaServer, case: Case, watch: Rounds
) -> None:
    """A later deletion without the option deletes the objects."""
    delete(meta_server.client, case)
    with meta_server.running.database.write() as tx:
        dataset_deletion.undelete(tx, UUID(case.dataset_id), grace_secs=3600.0, live_max=10)
    watch.note_kept_files()
    assert len(case.find()) == 3

    run("datasets", "delete", case.name)
    assert purge(meta_server) == 3
    collect(meta_server.client, meta_server.address)

    assert keys(meta_server.client) == []


def test_meta_without_a_witness_refuses_to_keep_files(meta_settings: Settings) -> None:
    running = server.start(replace(meta_settings, keeps_witness=False))
    try:
        with MetaClient(f"127.0.0.1:{running.port}") as client:
            request = catalog_pb2.DeleteDatasetRequest(name="default", keep_files=True)
            with pytest.raises(InvalidArgument, match="META_OBJECT_STORE_URL"):
                client.catalog.DeleteDataset(request)
    finally:
        running.stop(2.0)
