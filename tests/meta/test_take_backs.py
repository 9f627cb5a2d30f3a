"""OperationsService: replacements of other bytes, and reverts of replacements."""

from dataclasses import dataclass

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import InvalidArgument, MetaError, NotFound, NothingToRepair, RecordsAltered
from meta.store.deletion import tombstones
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="wrong disk")
REGISTERED, OTHER = 0xAAAA, 0xBBBB


@dataclass(frozen=True)
class Scene:
    """A dataset with one segment, whose checksum is registered."""

    client: MetaClient
    writer: Writer
    worker: WorkerDriver
    dataset: str
    damaged: str

    def file(self, crc32c: int | None) -> common_pb2.CreateSegment:
        file = segment_of(self.dataset)
        if crc32c is not None:
            file.crc32c = crc32c
        return file

    def replace(
        self, new: common_pb2.CreateSegment, *, accept_altered: bool = False
    ) -> pb.ReplaceSegmentResponse:
        return self.client.operations.ReplaceSegment(
            pb.ReplaceSegmentRequest(
                segment_id=self.damaged,
                segment=new,
                acceptance=CONSENT,
                accept_altered=accept_altered,
            )
        )

    def take_back(self, segment_id: str) -> pb.TakeBackReplacementResponse:
        return self.client.operations.TakeBackReplacement(
            pb.TakeBackReplacementRequest(segment_id=segment_id, acceptance=CONSENT)
        )

    def visible(self, **fields: object) -> list[str]:
        return self.writer.find_ids("web", **fields)

    def losses(self) -> list[pb.Loss]:
        return list(self.client.operations.ListLosses(pb.ListLossesRequest()).losses)

    def audited(self) -> list[tuple[str, str]]:
        reply = self.client.operations.ListAuditRecords(pb.ListAuditRecordsRequest())
        return [(record.rpc, record.detail) for record in reply.records]


@pytest.fixture
def scene(meta_server: MetaServer, meta_client: MetaClient) -> Scene:
    """Give the dataset, at versions of which Python keeps no single object.

    The grace is that of an installation.
    """
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET version = version + 1_000"))
    dataset = CatalogDriver(meta_client).dataset("web")
    writer = Writer(meta_client)
    segment = segment_of(dataset)
    segment.crc32c = REGISTERED
    (damaged,) = writer.save(segment)
    return Scene(meta_client, writer, WorkerDriver(meta_client), dataset, damaged)


@pytest.mark.parametrize("crc32c", [OTHER, None], ids=["another checksum", "none"])
def test_a_file_of_another_checksum_needs_consent(scene: Scene, crc32c: int | None) -> None:
    new = scene.file(crc32c)

    with pytest.raises(RecordsAltered):
        scene.replace(new)
    assert scene.visible() == [scene.damaged]
    reply = scene.replace(new, accept_altered=True)

    assert scene.replace(new, accept_altered=True) == reply
    assert scene.visible() == [reply.segment_id]
    given = "0000bbbb" if crc32c else "unknown"
    assert scene.audited()[0] == (
        "ReplaceSegment",
        f"checksum {given} for 0000aaaa, op: wrong disk",
    )


def test_an_altered_replacement_is_reverted(scene: Scene) -> None:
    altered = scene.file(OTHER)
    replacement = scene.replace(altered, accept_altered=True)

    reply = scene.take_back(replacement.segment_id)

    assert scene.take_back(replacement.segment_id) == reply
    assert scene.visible() == []
    assert scene.visible(as_of_version=replacement.version) == [replacement.segment_id]
    assert reply.original.id == scene.damaged
    assert reply.replacement.tombstone_version == reply.version
    assert [loss.HasField("withdrawn_version") for loss in scene.losses()] == [True, False]
    assert reply.loss == scene.losses()[1]
    assert [rpc for rpc, _ in scene.audited()].count("TakeBackReplacement") == 1
    with pytest.raises(NothingToRepair, match="reverted"):
        scene.replace(altered, accept_altered=True)
    healed = scene.replace(scene.file(REGISTERED))
    assert scene.visible() == [healed.segment_id]
    assert all(loss.HasField("withdrawn_version") for loss in scene.losses())


def test_an_altered_replacement_takes_no_part_in_merges_until_the_original_is_gone(
    meta_server: MetaServer, scene: Scene
) -> None:
    replacement = scene.replace(scene.file(OTHER), accept_altered=True)
    others = scene.writer.save_many(scene.dataset, 4)
    scene.worker.plan()
    assert {segment.id for segment in scene.worker.poll().segments} == set(others)

    with meta_server.running.database.write() as tx:
        (due,) = tombstones.hand_out(tx, grace_secs=0.0, most=10)
    with meta_server.running.database.write() as tx:
        assert tombstones.confirm(tx, [due.segment_id], grace_secs=0.0).deleted == 1

    with pytest.raises(NothingToRepair, match="none that is still there"):
        scene.take_back(replacement.segment_id)
    released = pb.ReleaseSegmentRequest(segment_id=replacement.segment_id)
    assert not scene.client.operations.ReleaseSegment(released).success


def test_an_original_that_is_handed_out_for_deletion_is_not_reverted(
    meta_server: MetaServer, scene: Scene
) -> None:
    replacement = scene.replace(scene.file(REGISTERED))
    with meta_server.running.database.write() as tx:
        tombstones.hand_out(tx, grace_secs=0.0, most=10)

    with pytest.raises(NothingToRepair, match="grace of the original"):
        scene.take_back(replacement.segment_id)

    assert scene.visible() == [replacement.segment_id]


def test_an_original_that_is_hidden_again_is_not_handed_out_for_deletion(
    meta_server: MetaServer, scene: Scene
) -> None:
    replacement = scene.replace(scene.file(REGISTERED))
    scene.take_back(replacement.segment_id)

    with meta_server.running.database.write() as tx:
        due = tombstones.hand_out(tx, grace_secs=0.0, most=10)

    assert [str(segment.segment_id) for segment in due] == [replacement.segment_id]


def test_what_replaces_nothing_is_not_reverted(scene: Scene) -> None:
    sources = scene.writer.save_many(scene.dataset, 4)
    scene.worker.plan()
    scene.worker.merge_all()
    merged = set(scene.visible()) - set(sources)
    refusals: list[tuple[str, type[MetaError]]] = [
        *((segment_id, NothingToRepair) for segment_id in merged),
        ("00000000-0000-7000-8000-000000000000", NotFound),
        ("no id", InvalidArgument),
    ]

    for segment_id, refusal in refusals:
        with pytest.raises(refusal):
            scene.take_back(segment_id)

    assert set(scene.visible()) == merged
    assert scene.losses() == []
