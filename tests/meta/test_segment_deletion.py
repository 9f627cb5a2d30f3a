"""SegmentDeletionService and CondemnObjects: what may go, and what must stay."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.errors import DeletionHeld, InvalidArgument, ObjectCondemned
from meta.v1 import operations_pb2
from meta.v1.common_pb2 import CreateSegment
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.meta.tables import execute


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def condemn(writer: Writer, *keys: str, dry_run: bool = False) -> list[str]:
    request = operations_pb2.CondemnObjectsRequest(
        object_keys=keys, dry_run=dry_run, written_by_caller=True
    )
    return list(writer.client.operations.CondemnObjects(request).condemned_keys)


def merged_key(dataset: str) -> str:
    return f"dataset/{dataset}/merged/{uuid4()}.parquet"


class TestWithoutGrace:
    """A grace that is over at once."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
        return replace(meta_settings, lifetimes=lifetimes)

    def test_what_a_merge_replaced_is_handed_out_and_forgotten_when_confirmed(
        self, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        ids = writer.save_many(dataset, 4)
        (first, *_) = writer.get(*ids)
        worker.plan()
        worker.merge_all()

        due = writer.due()
        confirmed = writer.confirm(*ids, str(uuid4()))
        again = writer.confirm(*ids)

        assert sorted(one.segment_id for one in due) == sorted(ids)
        assert {one.dataset_id for one in due} == {dataset}
        assert first.cloud_object_key in [one.cloud_object_key for one in due]
        assert due[0].tombstone_time_nanos > 1_600_000_000_000_000_000
        assert confirmed.success.deleted_count == 4
        assert again.success.deleted_count == 0
        assert writer.due() == []
        assert writer.get(*ids) == []

    def test_a_deleted_key_is_refused_to_a_late_writer(
        self, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        late = segment_of(dataset)
        writer.save(late)
        writer.save_many(dataset, 3)
        worker.plan()
        worker.merge_all()
        writer.confirm(*(one.segment_id for one in writer.due()))

        with pytest.raises(ObjectCondemned):
            writer.save(late)

    def test_a_tombstone_that_was_never_handed_out_cannot_be_confirmed(
        self, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        ids = writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()

        reply = writer.confirm(*ids)

        assert reply.error.reason == "GRACE_NOT_OVER"
        assert sorted(reply.error.segment_ids) == sorted(ids)
        assert len(writer.get(*ids)) == 4

    def test_versions_expire_up_to_the_last_commit_in_whatever_order_commits_began(
        self, meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        for _ in range(2):
            writer.save_many(dataset, 4)
            worker.plan()
            worker.merge_all()
        execute(
            meta_server,
            "UPDATE segments SET tombstone_at = tombstone_at - interval '1 day'"
            " WHERE tombstone_version = (SELECT max(tombstone_version) FROM segments)",
        )

        due = writer.due()
        confirmed = writer.confirm(*(segment.segment_id for segment in due))

        assert len({segment.tombstone_version for segment in due}) == 2
        assert due[0].tombstone_version > due[-1].tombstone_version
        # Readers at the earlier versions learn VERSION_EXPIRED, as the objects are gone.
        assert confirmed.success.deleted_count == len(due)

    def test_one_live_segment_spoils_a_whole_confirmation(
        self, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        ids = writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()
        (live,) = writer.find_ids("web")
        writer.due()

        reply = writer.confirm(*ids, live)

        assert reply.error.reason == "SEGMENT_LIVE"
        assert list(reply.error.segment_ids) == [live]
        assert len(writer.due()) == 4

    def test_deletion_waits_for_an_operator_after_a_restore(
        self, meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql("UPDATE meta_state SET deletion_held = true")
        key = merged_key(dataset)

        with pytest.raises(DeletionHeld):
            writer.due()
        with pytest.raises(DeletionHeld):
            condemn(writer, key)
        assert condemn(writer, key, dry_run=True) == [key]
        release = operations_pb2.ReleaseDeletionHoldRequest()
        assert writer.client.operations.ReleaseDeletionHold(release).success
        assert not writer.client.operations.ReleaseDeletionHold(release).success
        assert len(writer.due()) == 4

    def test_a_dataset_may_keep_its_tombstoned_objects_longer(
        self, meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql("UPDATE datasets SET tombstone_grace_secs = 3600")

        assert writer.due() == []


def test_nothing_is_handed_out_inside_the_grace(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()

    assert writer.due() == []
    assert writer.confirm(*ids).error.reason == "GRACE_NOT_OVER"


def test_confirming_something_that_is_not_an_id_is_refused(writer: Writer) -> None:
    with pytest.raises(InvalidArgument):
        writer.confirm("x")
    with pytest.raises(InvalidArgument):
        writer.confirm(*([str(uuid4())] * 1_001))


def test_only_unknown_keys_of_our_own_making_are_condemned(writer: Writer, dataset: str) -> None:
    known = segment_of(dataset)
    writer.save(known)
    known_key = f"dataset/{dataset}/merged/{known.cloud_object_key.key}"
    orphan = merged_key(dataset)
    old_attempt = f"dataset/{dataset}/merged/{uuid4()}-3/{uuid4()}.parquet"
    strangers = ["readme.txt", f"dataset/{dataset}/merged/mine.parquet", f"quarantine/{uuid4()}/x"]

    tried = condemn(writer, orphan, known_key, old_attempt, *strangers, dry_run=True)
    done = condemn(writer, orphan, known_key, old_attempt, *strangers)
    again = condemn(writer, orphan, known_key, old_attempt, *strangers)

    assert tried == done == again == [orphan, old_attempt]
    with pytest.raises(ObjectCondemned):
        writer.save(segment_of(dataset, key=orphan.rpartition("/")[2]))


def test_a_dry_run_condemns_nothing(writer: Writer, dataset: str) -> None:
    orphan = segment_of(dataset)
    key = f"dataset/{dataset}/merged/{orphan.cloud_object_key.key}"

    condemn(writer, key, dry_run=True)

    assert len(writer.save(orphan)) == 1
    assert condemn(writer, key) == []


def test_what_a_failed_claim_wrote_may_be_condemned(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    mine = f"{task.cloud_object_prefix.prefix}/{uuid4()}.parquet"
    worker.fail(task)
    after = condemn(writer, mine, dry_run=True)

    assert after == [mine]


def test_a_running_attempts_object_is_left_alone(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    key = f"{uuid4()}.parquet"

    assert condemn(writer, f"{task.cloud_object_prefix.prefix}/{key}") == []
    reply = worker.complete(task.task_id, worker.output(task, key=key))
    assert reply.WhichOneof("result") == "success"


def test_babies_are_orphans_only_where_nobody_comes_back_for_them(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    dataset: str,
) -> None:
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(3):
        collector.commit(stream, offset, dataset)
    nursery.merge(dataset, stream, -1, 1)
    nursery.reap(stream, 0)

    def key(offset: int, of: str = stream) -> str:
        return f"ingest-stream/{of}/{offset:020}"

    active = condemn(writer, *(key(offset) for offset in range(6)))
    nursery.stop(stream, 2)
    stopped = condemn(writer, *(key(offset) for offset in range(6)))
    unknown = key(5, of=str(uuid4()))

    assert active == [key(0)]
    assert stopped == [key(0), key(3), key(4), key(5)]
    assert condemn(writer, unknown) == []


@pytest.mark.one_meta
@pytest.mark.parametrize("key", ["", "/", "a//b", "a/../b", "nul\0", "x" * 1_000])
def test_text_that_can_be_no_key_is_refused(writer: Writer, key: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        condemn(writer, key)

    assert refused.value.field == "object_keys[0]"


def is_saved(writer: Writer, segments: list[CreateSegment]) -> bool:
    try:
        writer.save(*segments)
    except ObjectCondemned:
        return False
    return True


def test_of_a_registration_and_a_condemnation_exactly_one_wins(
    writer: Writer, dataset: str
) -> None:
    for _ in range(40):
        segments = [segment_of(dataset) for _ in range(4)]
        keys = [f"dataset/{dataset}/merged/{s.cloud_object_key.key}" for s in segments]

        with ThreadPoolExecutor(2) as pool:
            saved = pool.submit(is_saved, writer, segments)
            condemned = pool.submit(condemn, writer, *reversed(keys))

        # One transaction each: all four keys go to one side.
        assert len(condemned.result()) == (0 if saved.result() else 4)
