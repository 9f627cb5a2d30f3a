"""The deletion brake, by a real janitor: at its limit, one beyond, and what it does not hold."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from click.testing import CliRunner, Result
from structlog.testing import capture_logs

from janitor import jobs
from janitor.jobs import Tools
from meta import metrics
from meta.errors import NotFound
from meta.store.deletion import retention
from meta.store.deletion.baselines import SEGMENTS_FLOOR
from meta.store.segments import burial
from meta.store.versions import versions
from meta.v1 import catalog_pb2, status_pb2
from meta.v1 import operations_pb2 as pb
from segments.keys import join_key, merged_prefix
from segplane.__main__ import app
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

LIVE = SEGMENTS_FLOOR + 1


class StoredDataset:
    """A dataset with segments whose objects are in the store."""

    def __init__(self, tools: Tools, name: str, count: int) -> None:
        self.tools, self.name = tools, name
        self.id = CatalogDriver(tools.meta).dataset(name)
        new = [segment_of(self.id) for _ in range(count)]
        for segment in new:
            at = segment.cloud_object_key
            tools.store.put_if_absent(join_key(at.prefix.prefix, at.key), b"rows")
        self.ids = Writer(tools.meta).save(*new)

    @property
    def objects(self) -> int:
        return len(list(self.tools.store.list(merged_prefix(self.id))))


def bury(meta_server: MetaServer, segment_ids: Sequence[str]) -> None:
    """Tombstone segments without a successor, as retention does."""
    with meta_server.running.database.write() as tx:
        burial.bury(tx, list(map(UUID, segment_ids)), versions.allocate(tx))


def brakes(tools: Tools) -> list[pb.DeletionBrake]:
    return list(tools.meta.operations.GetServerState(pb.GetServerStateRequest()).deletion_brakes)


def foreseen(tools: Tools) -> list[tuple[str, int, int]]:
    """The brakes that the plan of deletion foresees: dataset, segments and bytes."""
    plan = tools.meta.status.PlanDeletion(status_pb2.PlanDeletionRequest())
    return [(b.dataset_name, b.segments, b.size_bytes) for b in plan.foreseen_brakes]


def run(tools: Tools) -> list[str]:
    """Run the job; returns the datasets that it warns of."""
    with capture_logs() as events:
        jobs.delete_tombstoned(tools)
    return [event["dataset"] for event in events if event["event"] == "deletion_braked"]


def test_half_of_a_dataset_is_deleted_and_not_one_segment_more(
    tools: Tools, meta_server: MetaServer
) -> None:
    at, beyond = StoredDataset(tools, "at", 2 * LIVE), StoredDataset(tools, "beyond", 2 * LIVE)
    bury(meta_server, at.ids[:LIVE])
    bury(meta_server, beyond.ids[: LIVE + 1])
    assert foreseen(tools) == [("beyond", LIVE + 1, 1_000 * (LIVE + 1))]

    warned = run(tools)

    assert (at.objects, beyond.objects) == (LIVE, 2 * LIVE)
    assert warned == ["beyond"]
    assert foreseen(tools) == []
    assert metrics.BRAKED_DATASETS._value.get() == 1
    (brake,) = brakes(tools)
    assert (brake.dataset_name, brake.segments) == ("beyond", LIVE + 1)
    assert (brake.size_bytes, brake.live_size_bytes) == (1_000 * (LIVE + 1), 1_000 * (LIVE - 1))
    # It stays, also when the dataset grows, and a janitor that deletes nonetheless is refused.
    Writer(tools.meta).save_many(beyond.id, 500)
    assert run(tools) == ["beyond"]
    refused = Writer(tools.meta).confirm(*beyond.ids[: LIVE + 1])
    assert len(refused.error.segment_ids) == LIVE + 1
    assert beyond.objects == 2 * LIVE


def test_an_operator_releases_a_brake_and_it_is_audited(
    tools: Tools, meta_server: MetaServer
) -> None:
    web = StoredDataset(tools, "web", LIVE)
    bury(meta_server, web.ids)
    assert run(tools) == ["web"]

    def segplane(*arguments: str) -> str:
        env = {"SEGPLANE_META_ADDRESS": meta_server.address}
        return CliRunner().invoke(app, ["deletion", *arguments], env=env).stdout

    assert f"web: {LIVE} segments" in segplane("status")
    assert segplane("release", "--dataset", "web") == ""
    assert segplane("release", "--dataset", "web") == "dataset 'web' has no brake\n"
    assert run(tools) == []
    assert (web.objects, brakes(tools), metrics.BRAKED_DATASETS._value.get()) == (0, [], 0)
    request = pb.ListAuditRecordsRequest(rpc="ReleaseDeletionHold")
    (record,) = tools.meta.operations.ListAuditRecords(request).records
    assert record.subject_id == web.id
    assert record.detail == f"{LIVE} segments of {1_000 * LIVE} bytes of dataset 'web'"
    with pytest.raises(NotFound):
        tools.meta.operations.ReleaseDeletionHold(
            pb.ReleaseDeletionHoldRequest(dataset_name="gone")
        )
    # A word is for what was tombstoned by then.
    later = StoredDataset(tools, "web", LIVE)
    bury(meta_server, later.ids)
    assert run(tools) == ["web"]
    assert later.objects == LIVE


def test_a_shorter_retention_is_held_unless_its_deletions_are_confirmed(
    tools: Tools, meta_server: MetaServer
) -> None:
    web, other = StoredDataset(tools, "web", LIVE), StoredDataset(tools, "other", LIVE)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE segments SET created_at = created_at - interval '1 day'")

    def settings(*arguments: str) -> Result:
        env = {"SEGPLANE_META_ADDRESS": meta_server.address}
        shorter = ["datasets", "retention", "--created-retention", "1h", *arguments]
        return CliRunner().invoke(app, shorter, env=env)

    hint = settings("other").stderr
    assert f"{LIVE} segments" in hint
    assert f"--confirm-deletes {LIVE}" in hint
    too_few = settings("web", "--confirm-deletes", str(LIVE - 1))
    assert too_few.exit_code == 1
    assert f"the retention deletes {LIVE} segments" in too_few.stderr
    request = pb.GetDatasetSettingsRequest(dataset_id=web.id)
    reply = tools.meta.operations.GetDatasetSettings(request)
    assert reply.settings.created_retention.seconds == 0
    enough = settings("web", "--confirm-deletes", str(LIVE))
    assert (enough.exit_code, enough.stderr) == (0, "")
    audited = tools.meta.operations.ListAuditRecords(
        pb.ListAuditRecordsRequest(rpc="SetDatasetSettings", subject_id=web.id)
    )
    assert f"deletion of up to {LIVE} segments is confirmed" in {
        record.detail for record in audited.records
    }
    with meta_server.running.database.write() as tx:
        buried = [retention.bury_expired(tx) for _ in range(3)]
    assert sum(buried) == 2 * LIVE
    assert [name for name, *_ in foreseen(tools)] == ["other"]

    assert run(tools) == ["other"]

    assert (web.objects, other.objects) == (0, LIVE)


def test_small_datasets_merged_segments_and_deleted_datasets_are_not_held(
    tools: Tools, meta_server: MetaServer
) -> None:
    small = StoredDataset(tools, "small", SEGMENTS_FLOOR)
    merged = StoredDataset(tools, "merged", 2 * LIVE)
    deleted = StoredDataset(tools, "deleted", LIVE)
    bury(meta_server, small.ids)
    worker = WorkerDriver(tools.meta)
    worker.plan()
    worker.merge_all()
    bury(meta_server, deleted.ids)
    request = catalog_pb2.DeleteDatasetRequest(name="deleted")
    assert tools.meta.catalog.DeleteDataset(request).success
    assert foreseen(tools) == []

    assert run(tools) == []

    assert (small.objects, deleted.objects) == (0, 0)
    assert merged.objects < LIVE
