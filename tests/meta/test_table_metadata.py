"""Metadata of tables: registered by digest, handed out for a grace, then deleted."""

from dataclasses import replace
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.errors import DeletionHeld, InvalidArgument, KeyTaken, NotFound, VersionExpired
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segments.keys import new_table_key
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tables import TableDriver, execute, pass_grace

GRACE_SECS = 60.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=GRACE_SECS)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def table(meta_server: MetaServer, dataset: str) -> TableDriver:
    return TableDriver(meta_server.client, dataset)


def test_of_two_objects_with_one_digest_the_first_is_kept(table: TableDriver) -> None:
    (first,) = table.put("a")

    assert table.put("a", "b")[0] == first
    assert table.find("a", "c") == [first, ""]


def test_a_key_stands_for_one_digest(table: TableDriver) -> None:
    (key,) = table.put("a")

    with pytest.raises(KeyTaken):
        table.put_keys({"b": key})
    assert table.put_keys({"a": key}) == [key]


@pytest.mark.parametrize("behind", [3_500, -3_500])
def test_a_key_may_be_registered_within_an_hour(table: TableDriver, behind: int) -> None:
    assert table.put("a", epoch_behind_secs=behind) != [""]


@pytest.mark.parametrize("behind", [3_700, -3_700])
def test_a_late_registration_is_refused(table: TableDriver, behind: int) -> None:
    with pytest.raises(InvalidArgument, match="named more than 3600 s ago"):
        table.put("a", epoch_behind_secs=behind)


def test_only_keys_of_the_datasets_own_metadata_are_taken(table: TableDriver) -> None:
    epoch = table.get().epoch
    for key in (
        f"dataset/{table.dataset}/merged/{uuid4()}.parquet",
        new_table_key(str(uuid4()), epoch, "manifest.avro"),
        new_table_key(table.dataset, epoch, "other.avro"),
    ):
        with pytest.raises(InvalidArgument, match="not a key of the metadata"):
            table.put_keys({"a": key})


def test_requests_are_bounded(table: TableDriver) -> None:
    assert table.find(*map(str, range(1_000))) == [""] * 1_000
    with pytest.raises(InvalidArgument, match="1001 items, more than 1000"):
        table.find(*map(str, range(1_001)))
    with pytest.raises(InvalidArgument, match="1001 characters, more than 1000"):
        table.put_keys({"a": "x" * 1_001})
    with pytest.raises(InvalidArgument, match="101 items, more than 100"):
        table.hand_out("doc", range(101))
    with pytest.raises(InvalidArgument, match="is empty"):
        table.hand_out("doc", [])
    with pytest.raises(InvalidArgument, match="16385 items, more than 16384"):
        table.snapshot(1, *map(str, range(16_385)))


def test_a_snapshot_is_made_of_registered_objects(table: TableDriver, writer: Writer) -> None:
    writer.save_many(table.dataset, 1)
    version = table.get().current_version
    table.put("a")

    with pytest.raises(NotFound, match="1 of 3 objects"):
        table.snapshot(version, "a", "b")
    with pytest.raises(InvalidArgument, match="the current version is"):
        table.snapshot(version + 1, "a")
    made = table.snapshot(version, "a")

    assert made.version == version
    assert made.object_key == table.find(f"list {version}")[0]
    assert list(table.get().snapshots) == [made]
    assert table.snapshot(version) == made


def test_times_of_snapshots_are_those_of_commits_and_never_decrease(
    table: TableDriver, writer: Writer, meta_server: MetaServer
) -> None:
    versions = []
    for _ in range(3):
        writer.save_many(table.dataset, 1)
        versions.append(table.get().current_version)
    hour = "created_at - interval '1 h'"
    execute(
        meta_server,
        f"UPDATE segments SET created_at = {hour}"  # noqa: S608
        f" WHERE created_version = {versions[1]}",
    )
    # Registered in another order than committed.
    for version in (versions[2], versions[0], versions[1]):
        table.snapshot(version)

    times = [one.committed_at_millis for one in table.get().snapshots]

    assert [one.version for one in table.get().snapshots] == versions
    assert times == sorted(times)
    with meta_server.running.database.read() as tx:
        first = tx.exec_driver_sql(
            "SELECT floor(extract(epoch FROM created_at) * 1000)::bigint FROM segments"
            " ORDER BY created_version LIMIT 1"
        ).scalar_one()
    assert abs(times[0] - first) <= 1


@pytest.mark.long
def test_the_latest_hundred_snapshots_are_listed(
    table: TableDriver, meta_server: MetaServer
) -> None:
    execute(meta_server, "UPDATE meta_state SET version = version + 200")
    version = table.get().current_version
    versions = [version - behind for behind in range(101)]
    for one in versions:
        table.snapshot(one)

    listed = [one.version for one in table.get().snapshots]

    assert listed == sorted(versions)[1:]
    assert [one.version for one in table.get(version - 50).snapshots] == sorted(versions)[:51]


def test_what_was_handed_out_outlives_the_grace_from_then(
    table: TableDriver, meta_server: MetaServer, writer: Writer
) -> None:
    versions = []
    for _ in range(2):
        writer.save_many(table.dataset, 1)
        versions.append(table.get().current_version)
    table.put("a", "b", "doc", "unused")
    table.snapshot(versions[0], "a")
    table.snapshot(versions[1], "b")
    assert table.expire() == []
    pass_grace(meta_server)
    table.hand_out("doc", versions)

    (deleted,) = table.expire()

    assert table.find("unused") == [""]
    assert deleted.startswith(f"iceberg/{table.dataset}/")
    assert "" not in table.find("a", "b", "doc", *(f"list {one}" for one in versions))
    assert len(table.get().snapshots) == 2


def test_without_readers_the_newest_snapshot_stays(
    table: TableDriver, meta_server: MetaServer, writer: Writer
) -> None:
    versions = []
    for _ in range(2):
        writer.save_many(table.dataset, 1)
        versions.append(table.get().current_version)
    table.put("a", "b", "shared", "doc")
    table.snapshot(versions[0], "a", "shared")
    table.snapshot(versions[1], "b", "shared")
    pass_grace(meta_server)

    assert len(table.expire(limit=2)) == 3

    assert [one.version for one in table.get().snapshots] == versions[1:]
    known = table.find("a", f"list {versions[0]}", "doc", "b", "shared", f"list {versions[1]}")
    assert [bool(key) for key in known] == [False] * 3 + [True] * 3
    with pytest.raises(NotFound, match="not registered any more"):
        table.hand_out("doc", versions)
    with pytest.raises(NotFound, match="document is not registered"):
        table.hand_out("doc", versions[1:])


def test_a_pinned_snapshot_outlives_the_grace(
    table: TableDriver, meta_server: MetaServer, writer: Writer
) -> None:
    pins = PinDriver(meta_server.client)
    writer.save_many(table.dataset, 1)
    pinned = table.get().current_version
    table.put("a", "doc")
    table.snapshot(pinned, "a")
    table.hand_out("doc", [pinned])
    pin = pins.take(version=pinned)
    writer.save_many(table.dataset, 1)
    table.snapshot(table.get().current_version)
    pass_grace(meta_server)

    assert table.expire() == []
    pins.release(pin)
    pass_grace(meta_server)

    assert len(table.expire()) == 3
    assert [one.version for one in table.get().snapshots] != [pinned]


def test_a_version_below_the_horizon_is_not_handed_out(
    table: TableDriver, writer: Writer, worker: WorkerDriver, meta_server: MetaServer
) -> None:
    writer.save_many(table.dataset, 4)
    version = table.get().current_version
    table.put("doc")
    table.snapshot(version)
    worker.plan()
    worker.merge_all()
    execute(meta_server, "UPDATE segments SET tombstone_at = tombstone_at - interval '2 min'")
    assert len(writer.due()) == 4

    with pytest.raises(VersionExpired):
        table.hand_out("doc", [version])
    assert not table.get().snapshots


def test_metadata_of_a_deleted_dataset_goes_whole(
    table: TableDriver, meta_server: MetaServer
) -> None:
    table.put("a", "doc")
    table.snapshot(table.get().current_version, "a")
    meta_server.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=table.dataset))
    pass_grace(meta_server)

    assert len(table.expire()) == 3
    assert table.expire() == []


def test_a_table_is_handed_out_under_its_own_name_only(table: TableDriver) -> None:
    table.put("doc")
    version = table.get().current_version
    table.snapshot(version)

    with pytest.raises(NotFound, match="another name"):
        replace(table, dataset_name="other").hand_out("doc", [version])


def test_rows_of_another_history_are_void(table: TableDriver, meta_server: MetaServer) -> None:
    (before,) = table.put("a")
    version = table.get().current_version
    table.snapshot(version, "a")
    # As after a restore: the objects may have been deleted since the backup.
    execute(meta_server, "UPDATE meta_state SET gap_end = 1, gap_start = 0")

    assert table.find("a") == [""]
    assert not table.get().snapshots
    (after,) = table.put("a")
    assert after != before
    table.snapshot(version, "a")
    assert [one.version for one in table.get().snapshots] == [version]


def test_deletion_is_held_after_a_failover(table: TableDriver, meta_server: MetaServer) -> None:
    table.put("a")
    pass_grace(meta_server)
    execute(meta_server, "UPDATE meta_state SET deletion_held = true")

    with pytest.raises(DeletionHeld):
        table.expire()


def test_an_object_is_an_orphan_once_nothing_can_register_it(
    table: TableDriver, meta_server: MetaServer
) -> None:
    epoch = table.get().epoch
    old, young = (
        new_table_key(table.dataset, epoch - secs, "manifest.avro") for secs in (86_500, 86_000)
    )
    (registered,) = table.put("a")
    execute(
        meta_server,
        f"UPDATE table_objects SET object_key = replace(object_key, '{epoch}', '1')",  # noqa: S608
    )
    registered = registered.replace(str(epoch), "1")
    assert table.find("a") == [registered]
    request = pb.CondemnObjectsRequest(object_keys=[old, young, registered])

    reply = meta_server.client.operations.CondemnObjects(request)

    assert list(reply.condemned_keys) == [old]
