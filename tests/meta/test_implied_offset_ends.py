"""Everything that goes on from implied offsets: floors, removed entries, fsck."""

from uuid import UUID

import pytest
from sqlalchemy import text

from meta.errors import NotDrained
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets, stream_reads
from meta.store.streams.merged_offsets import Backlogs
from meta.store.streams.removable_entries import EXAMINED_MAX, RemovableEntries
from meta.store.streams.stream_reads import StreamScope
from meta.store.versions import versions
from meta.v1 import ingest_token_pb2, ingestion_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.plans import rows_of_statements
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; nothing is committed yet."""
    return TwoDatasets.create(meta_server)


def test_floors_rise_unseen(scene: TwoDatasets) -> None:
    for offset, dataset in enumerate((scene.web, scene.app, scene.web)):
        scene.collector.commit(scene.stream, offset, dataset)
    scene.nursery.merge(scene.web, scene.stream, -1, 2)
    before = scene.nursery.stream(scene.stream)
    scene.sweep()
    assert scene.nursery.stream(scene.stream) == before
    floor = "SELECT merged_floor FROM stream_heads WHERE stream_id = :stream"
    assert scene.count(floor) == 0

    scene.nursery.merge(scene.app, scene.stream, 0, 1)
    scene.nursery.reap(scene.stream, 2)
    before = scene.nursery.stream(scene.stream)
    scene.sweep()

    assert scene.nursery.stream(scene.stream) == before
    assert scene.count(floor) == 2
    assert scene.findings() == []


def test_an_entry_goes_on_above_reaped_baby_segments(scene: TwoDatasets) -> None:
    for offset in range(2):
        scene.collector.commit(scene.stream, offset, scene.web)
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    scene.nursery.reap(scene.stream, 1)
    scene.sweep()
    scene.collector.commit(scene.stream, 2, scene.app)

    scene.nursery.merge(scene.app, scene.stream, 1, 2)

    assert scene.merged() == (2, 2)
    assert scene.findings() == []


def test_an_entry_is_removed_at_the_deleted_offset_once_nothing_above_is_its_own(
    scene: TwoDatasets,
) -> None:
    catalog = CatalogDriver(scene.nursery.client)
    catalog.route(scene.token, logs=scene.web)
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, scene.app)
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    scene.nursery.reap(scene.stream, 0)
    with pytest.raises(NotDrained):
        scene.nursery.remove_entry(scene.stream, scene.app, 0)
    scene.nursery.merge(scene.app, scene.stream, 0, 1)
    for offset in (0, 1):
        with pytest.raises(NotDrained):
            scene.nursery.remove_entry(scene.stream, scene.app, offset)
    scene.nursery.reap(scene.stream, 1)
    scene.collector.commit(scene.stream, 2, scene.web)

    scene.nursery.remove_entry(scene.stream, scene.app, 1)

    assert [e.dataset_id for e in scene.nursery.stream(scene.stream).datasets] == [scene.web]


def test_fsck_reports_a_registration_that_began_beyond_its_own_baby(
    scene: TwoDatasets,
) -> None:
    for offset, dataset in enumerate((scene.web, scene.web, scene.app)):
        scene.collector.commit(scene.stream, offset, dataset)
    scene.nursery.merge(scene.app, scene.stream, 1, 2)
    assert scene.findings() == []

    scene.execute(
        "UPDATE baby_segments SET dataset_ids = ARRAY[cast(:app AS uuid)]"
        ' WHERE stream_id = :stream AND "offset" = 1'
    )

    assert scene.findings() == ["OFFSET_CHAIN"]


def test_fsck_reports_a_registration_that_does_not_go_on_from_the_stored_offset(
    scene: TwoDatasets,
) -> None:
    for offset in range(4):
        scene.collector.commit(scene.stream, offset, (scene.web, scene.app)[offset % 2])
    scene.nursery.merge(scene.app, scene.stream, 0, 1)
    scene.nursery.merge(scene.app, scene.stream, 2, 3)
    assert scene.findings() == []

    scene.execute("UPDATE registrations SET moved_from = 2 WHERE start_offset = 2")

    assert scene.findings() == ["OFFSET_CHAIN"]


def test_a_poll_for_changes_names_a_stream_until_all_that_may_be_of_an_entry_is_merged(
    scene: TwoDatasets,
) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    seq = scene.nursery.poll().response_seq
    assert [s.stream_id for s in scene.nursery.poll(seq).streams] == [scene.stream]

    seq = scene.nursery.merge(scene.web, scene.stream, -1, 0)

    assert not scene.nursery.poll(seq).streams


def test_a_revoked_token_is_deleted_though_idle_entries_were_never_moved(
    scene: TwoDatasets,
) -> None:
    client = scene.nursery.client
    scene.collector.commit(scene.stream, 0, scene.web)
    catalog = CatalogDriver(client)
    catalog.revoke(scene.token)
    request = ingest_token_pb2.DeleteIngestTokenRequest(token_id=scene.token.id)
    with pytest.raises(NotDrained):
        client.ingest_token.DeleteIngestToken(request)

    scene.nursery.merge(scene.web, scene.stream, -1, 0)

    client.ingest_token.DeleteIngestToken(request)


@pytest.mark.parametrize("surplus", [0, 1])
def test_a_poll_examines_a_bounded_number_of_entries_for_removal(
    scene: TwoDatasets, surplus: int
) -> None:
    scene.nursery.stop(scene.stream, -1)
    statement = (
        "INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
        " changed_version) SELECT cast(:stream AS uuid), gen_random_uuid(), -1, -1, 0"
    )
    scene.execute(f"{statement} FROM generate_series(1, {EXAMINED_MAX + surplus - 2})")
    removable = RemovableEntries()

    with scene.server.running.database.read() as tx:
        first, second, third = (removable.find(tx, [UUID(scene.stream)]) for _ in range(3))
        backlogs = Backlogs.whole([UUID(scene.stream)])
        entries = merged_offsets.read_unmerged(tx, backlogs, first)
        passed = merged_offsets.read_passed(tx, backlogs)

    assert len(first) == len(entries) == EXAMINED_MAX
    assert not passed.whole
    # Those behind come next, and then the first ones again.
    assert len(second) == surplus
    assert not set(second) & set(first)
    assert third == first


def test_entries_that_a_token_routes_to_are_not_named_for_removal(scene: TwoDatasets) -> None:
    catalog = CatalogDriver(scene.nursery.client)

    def removable() -> set[str]:
        with scene.server.running.database.read() as tx:
            keys = RemovableEntries(examined_max=10).find(tx, [UUID(scene.stream)])
        return {str(dataset_id) for _, dataset_id in keys}

    before = removable()
    catalog.route(scene.token, metrics=scene.web)
    of_one_signal = removable()
    scene.collector.commit(scene.stream, 0, scene.web)
    while_unmerged = removable()
    catalog.revoke(scene.token)
    scene.nursery.merge(scene.web, scene.stream, -1, 0)
    scene.nursery.reap(scene.stream, 0)

    assert before == set()
    assert of_one_signal == {scene.app}
    assert while_unmerged == set()
    assert removable() == {scene.app, scene.web}


def test_an_entry_that_comes_back_begins_at_or_above_the_deleted_offset(
    scene: TwoDatasets,
) -> None:
    catalog = CatalogDriver(scene.nursery.client)
    scene.collector.commit(scene.stream, 0, scene.app)
    scene.nursery.merge(scene.app, scene.stream, -1, 0)
    scene.nursery.reap(scene.stream, 0)
    catalog.route(scene.token, logs=scene.web)
    scene.nursery.remove_entry(scene.stream, scene.app, 0)

    catalog.route(scene.token, logs=scene.web, traces=scene.app)

    stored = "SELECT merged_offset FROM stream_datasets WHERE dataset_id = :app"
    assert scene.count(stored) == 0
    scene.collector.commit(scene.stream, 1, scene.app)
    scene.nursery.merge(scene.app, scene.stream, 0, 1)
    assert scene.findings() == []


def test_a_located_baby_is_merged_by_an_entry_whose_implied_offset_is_beyond_it(
    scene: TwoDatasets,
) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, scene.app)
    scene.collector.commit(scene.stream, 2, scene.web)
    scene.nursery.merge(scene.web, scene.stream, -1, 2)

    def merged(offset: int) -> dict[str, bool]:
        request = operations_pb2.LocateOffsetRequest(stream_id=scene.stream, offset=offset)
        located = scene.nursery.client.operations.LocateOffset(request)
        return {place.dataset_id: place.merged for place in located.locations}

    assert merged(0) == {scene.web: True, scene.app: True}
    assert merged(1) == merged(2) == {scene.web: True, scene.app: False}


def test_a_baby_without_facts_waits_until_every_entry_has_passed_it(scene: TwoDatasets) -> None:
    request = ingestion_pb2.CommitOffsetRequest(stream_id=scene.stream, committed_offset=0)
    scene.nursery.client.ingestion.CommitOffset(request)
    assert scene.merged() == (-1, -1)
    with pytest.raises(NotDrained):
        scene.nursery.reap(scene.stream, 0)

    for dataset in (scene.web, scene.app):
        scene.nursery.register(dataset, (scene.stream, -1, 0))
    scene.nursery.stop(scene.stream, 1)

    # The stop message of MarkStreamStopped has no object.
    assert scene.merged() == (1, 1)
    assert scene.findings() == []


def test_the_last_baby_without_facts_is_not_a_stop_message(scene: TwoDatasets) -> None:
    request = ingestion_pb2.CommitOffsetRequest(stream_id=scene.stream, committed_offset=0)
    scene.nursery.client.ingestion.CommitOffset(request)

    scene.nursery.stop(scene.stream, 0)

    assert scene.merged() == (-1, -1)
    with pytest.raises(NotDrained):
        scene.nursery.reap(scene.stream, 0)


def test_a_stop_message_of_an_earlier_release_is_read_before_it_is_passed(
    scene: TwoDatasets,
) -> None:
    """Its row is that of a baby segment without stamps and facts, so it may be one."""
    scene.nursery.stop(scene.stream, 0)
    assert scene.merged() == (0, 0)
    scene.execute("UPDATE baby_segments SET dataset_ids = NULL WHERE stream_id = :stream")

    assert scene.merged() == (-1, -1)
    for dataset in (scene.web, scene.app):
        scene.nursery.register(dataset, (scene.stream, -1, 0))

    scene.nursery.reap(scene.stream, 0)
    assert scene.findings() == []


def test_a_poll_looks_up_stamps_and_reads_no_idle_entries(scene: TwoDatasets) -> None:
    for offset in range(20):
        scene.collector.commit(scene.stream, offset, scene.web)
    scene.nursery.merge(scene.web, scene.stream, -1, 18)
    scene.execute(
        "INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
        " changed_version) SELECT cast(:stream AS uuid), gen_random_uuid(), -1, -1, 0"
        " FROM generate_series(1, 1000)"
    )
    database = scene.server.running.database
    with database.single() as tx:
        tx.execute(text("VACUUM ANALYZE"))

    def poll(tx: Transaction) -> None:
        seq = versions.current(tx)
        assert stream_reads.read_streams(tx, StreamScope(seq), 0.0, most=10)
        assert merged_offsets.lowest_of(tx, UUID(scene.stream)) == 18

    assert max(rows_of_statements(database, poll)) < 1_000
