"""Backups: what was visible or waiting at their version stays until they end, and nothing else."""

from dataclasses import replace

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import NameTaken, QuotaExceeded, UpgradeUnfinished, VersionExpired
from meta.v1 import nursery_pb2, operations_pb2, resources_pb2, status_pb2
from tests.support.meta.background import rounds_on
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.kept_backups import HOUR, BackupDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tables import execute


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    """Give a stream of five baby segments."""
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(5):
        collector.commit(stream_id, offset, dataset)
    return stream_id


def merge(writer: Writer, worker: WorkerDriver, dataset: str) -> set[str]:
    """Save segments and merge all there are; returns the saved ones."""
    ids = writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()
    return set(ids)


def delete_due(writer: Writer) -> set[str]:
    """Delete what is due, as the janitor does."""
    due = {one.segment_id for one in writer.due()}
    assert writer.confirm(*due).HasField("success")
    return due


def condemn(client: MetaClient, stream: str) -> list[int]:
    """Ask which of a stream's baby segments may be deleted; returns their offsets."""
    keys = [f"ingest-stream/{stream}/{offset:020}" for offset in range(6)]
    reply = client.operations.CondemnObjects(operations_pb2.CondemnObjectsRequest(object_keys=keys))
    return [int(key.rpartition("/")[2]) for key in reply.condemned_keys]


def kept_ranges(client: MetaClient, stream: str) -> list[tuple[int, int]]:
    """Poll as a nursery that leaves kept baby segments."""
    request = nursery_pb2.GetIngestStreamsRequest(leaves_kept_ranges=True)
    reply = client.nursery.GetIngestStreamsForNursery(request)
    (info,) = (each for each in reply.streams if each.stream_id == stream)
    return [(each.first_offset, each.last_offset) for each in info.kept_ranges]


def test_what_a_backup_shows_stays_until_its_end(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    client = meta_server.client
    before = merge(writer, worker, dataset)
    writer.save_many(dataset, 3)
    shown = set(writer.find_ids("web"))
    backup = BackupDriver(client).create()
    after = merge(writer, worker, dataset)
    shown -= set(writer.find_ids("web"))

    assert delete_due(writer) == before | after
    refused = writer.confirm(*shown)
    (kept,) = BackupDriver(client).list()

    assert refused.error.reason == "GRACE_NOT_OVER"
    assert (kept.kept_segments, kept.sole_segments) == (len(shown), len(shown))
    assert kept.kept_bytes == kept.sole_bytes > 0
    assert 0 < kept.remaining_secs <= HOUR
    execute(meta_server, "UPDATE backups SET ends_at = now() - interval '1 s'")
    rounds_on(meta_server.running.database).end_backups()
    assert BackupDriver(client).list() == []
    assert not BackupDriver(client).release(backup.id)
    assert delete_due(writer) == shown


def test_bytes_of_several_backups_tell_what_each_one_alone_keeps(
    meta_client: MetaClient, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    first_only = writer.save_many(dataset, 4)
    backups = BackupDriver(meta_client)
    first = backups.create()
    worker.plan()
    assert worker.merge_all() == 1
    writer.save_many(dataset, 3)
    backups.create()
    worker.plan()
    assert worker.merge_all() == 1

    older, newer = backups.list()

    assert older.id == first.id
    assert (older.kept_segments, older.sole_segments) == (4, 4)
    assert (newer.kept_segments, newer.sole_segments) == (3, 3)
    assert delete_due(writer) == set()
    assert backups.release(first.id)
    assert delete_due(writer) == set(first_only)


def test_a_vacuum_and_a_plan_name_what_a_backup_keeps(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    client = meta_server.client
    writer.save_many(dataset, 4)
    backup = BackupDriver(client).create()
    merge(writer, worker, dataset)
    moved = "created_at = created_at - interval '2 h', tombstone_at = tombstone_at - interval '2 h'"
    execute(meta_server, f"UPDATE segments SET {moved}")  # noqa: S608

    request = resources_pb2.VacuumDatasetsRequest(
        dataset_name="web", older_than_secs=HOUR, dry_run=True
    )
    (vacuumed,) = client.resources.VacuumDatasets(request).datasets
    (waiting,) = client.status.PlanDeletion(status_pb2.PlanDeletionRequest()).waiting
    explained = client.status.ExplainDataset(status_pb2.ExplainDatasetRequest(id=dataset))

    assert (vacuumed.backup_segments, vacuumed.backup_bytes) == (4, 4_000)
    assert vacuumed.segments == 4
    assert (waiting.obstacle, waiting.segments) == (status_pb2.DELETION_OBSTACLE_BACKUP, 4)
    assert (waiting.holder, waiting.version) == (backup.id, backup.version)
    assert abs(waiting.until_nanos - backup.ends_at_nanos) < 10**9
    (stage,) = (
        one for one in explained.holdings if one.stage == status_pb2.HOLDING_STAGE_BACKED_UP
    )
    assert stage.amount == 4


def test_waiting_baby_segments_stay_though_their_stream_is_reaped(
    meta_server: MetaServer, nursery: NurseryDriver, dataset: str, stream: str
) -> None:
    client = meta_server.client
    nursery.merge(dataset, stream, -1, 1)
    backup = BackupDriver(client).create()
    nursery.merge(dataset, stream, 1, 4)

    of_earlier_release = nursery.stream(stream)
    kept = kept_ranges(client, stream)
    nursery.reap(stream, 4)

    assert kept == [(2, 4)]
    assert (of_earlier_release.reapable_offset, list(of_earlier_release.kept_ranges)) == (1, [])
    assert (backup.streams, backup.baby_bytes) == (1, BackupDriver(client).list()[0].baby_bytes)
    assert backup.baby_bytes > 0
    assert condemn(client, stream) == [0, 1]
    assert kept_ranges(client, stream) == []
    assert BackupDriver(client).release(backup.id)
    assert condemn(client, stream) == [0, 1, 2, 3, 4]


def test_what_was_merged_behind_the_version_counts_as_waiting(
    meta_server: MetaServer, nursery: NurseryDriver, dataset: str, stream: str
) -> None:
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 1000")
    nursery.merge(dataset, stream, -1, 1)
    copied = BackupDriver(meta_server.client).version()
    nursery.merge(dataset, stream, 1, 3)

    backup = BackupDriver(meta_server.client).create(copied)
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 0")

    assert backup.streams == 1
    # What the dataset had merged at the version is kept as well: it is not computed.
    assert kept_ranges(meta_server.client, stream) == [(0, 4)]


def test_a_version_whose_objects_may_be_deleted_is_refused(
    meta_client: MetaClient,
    writer: Writer,
    worker: WorkerDriver,
    nursery: NurseryDriver,
    dataset: str,
    stream: str,
) -> None:
    writer.save_many(dataset, 4)
    backups = BackupDriver(meta_client)
    copied = backups.version()
    merge(writer, worker, dataset)
    writer.due()

    with pytest.raises(VersionExpired):
        backups.create(copied)
    copied = backups.version()
    backups.create(copied)
    nursery.merge(dataset, stream, -1, 1)
    with pytest.raises(VersionExpired):
        backups.create(copied)


def test_refusals_and_repetitions(meta_server: MetaServer, dataset: str) -> None:
    backups = BackupDriver(meta_server.client)
    first = backups.create()

    again = backups.create(first.version, backup_id=first.id, keep_secs=2 * HOUR)

    assert again.ends_at_nanos == first.ends_at_nanos
    with pytest.raises(NameTaken):
        backups.create(first.version - 1, backup_id=first.id)
    for _ in range(99):
        backups.create()
    with pytest.raises(QuotaExceeded):
        backups.create()
    assert backups.release(first.id)
    assert not backups.release(first.id)
    execute(meta_server, "UPDATE meta_state SET least_release = '0.3.0'")
    with pytest.raises(UpgradeUnfinished):
        backups.create()
