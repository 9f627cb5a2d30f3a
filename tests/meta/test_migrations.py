"""Migrations: the first is frozen, and a database of 0.1.0 keeps its data through the others."""

from hashlib import sha256
from pathlib import Path
from uuid import UUID

import grpc
import psycopg
import pytest
from sqlalchemy import text

from meta import migrations
from meta.config import Settings
from meta.server import server
from meta.store.catalog import dataset_layouts
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.segments import segments
from meta.v1 import common_pb2, operations_pb2, operations_pb2_grpc
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer

ROWS = Path(__file__).with_name("database_0_1_0.sql")
# The file of release 0.1.0: databases that ran it exist.
FROZEN = "ceb8c3b38dab72d1143638fad90b7f1729baedc83438b0b029ccbd9ccc498a73"
VERSION = 22
LOGS, TRACES, DELETED = (
    "01a20108-991a-792f-8c91-6c2206629ea5",
    "01a20108-9931-775a-b68e-9d31fac211d4",
    "01a20108-993c-70c6-8c96-fb84d420b0ca",
)
OPEN_STREAM, STOPPED_STREAM = (
    "01a20108-99e5-76ea-9105-e5e47202c1e8",
    "01a20108-9a82-7f93-b279-c439becfced1",
)


# Another role than the owner cannot migrate.
pytestmark = pytest.mark.database_owner


@pytest.fixture
def database_url(empty_database_url: str) -> str:
    """Give a database of release 0.1.0 with rows in every table that it wrote to."""
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database, revision="0001")
    database.close()
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(ROWS.read_bytes())
    return empty_database_url


def test_the_first_migration_is_frozen() -> None:
    path = Path(migrations.__file__).parent / "versions" / "0001_initial.py"

    assert sha256(path.read_bytes()).hexdigest() == FROZEN


def test_an_upgraded_database_has_this_release_s_revision(
    meta_server: MetaServer, meta_settings: Settings
) -> None:
    database = Database(meta_settings.database)

    assert migrations.current_revision(database) == migrations.head_revision()
    database.close()


def test_promoted_columns_of_0_1_0_are_numbered_in_their_order(empty_database_url: str) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database, revision="0001")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(ROWS.read_bytes())
        for position, name in enumerate(["zone", "code"]):
            connection.execute(
                "INSERT INTO promoted_columns (dataset_id, position, name, type, scope, attribute)"
                " SELECT id, %s, %s, 3, 1, 'a' FROM datasets WHERE id IN (%s, %s)",
                (position, name, LOGS, TRACES),
            )

    migrations.upgrade(database)

    with database.read() as tx:
        layouts = dataset_layouts.read(tx, [UUID(LOGS), UUID(TRACES)]).values()
    database.close()
    numbers = [[(c.name, c.field_id) for c in layout.promoted_columns] for layout in layouts]
    assert numbers == [[("zone", 1_000), ("code", 1_002)]] * 2


def test_segments_of_0_1_0_are_found_at_the_versions_they_were_written_at(
    meta_server: MetaServer,
) -> None:
    writer = Writer(meta_server.client)

    assert len(writer.find_ids("app-logs")) == 34
    assert len(writer.find_ids("app-traces")) == 19 + 2
    assert len(writer.find_ids("app-logs", as_of_version=14)) == 2
    assert writer.find("app-logs").snapshot_version == VERSION


def test_segments_of_0_1_0_get_the_messages_that_their_rows_make(meta_server: MetaServer) -> None:
    with meta_server.running.database.read() as tx:
        ids, messages = zip(*tx.execute(text("SELECT id, message FROM segments")), strict=True)
        rows = {UUID(row.id): row for row in segments.get_many(tx, ids)}

    assert len(ids) > 50
    for segment_id, message in zip(ids, messages, strict=True):
        row = rows[segment_id]
        times, key = (row.start_ns, row.end_ns), (row.prefix, row.object_name)
        sizes = (row.size_bytes, row.compressed_size_bytes, row.number_of_events)
        assert message == segments.write_message(
            row.id, row.dataset_id, times, sizes, key, row.merge_count
        )


def test_streams_of_0_1_0_go_on_from_their_offsets(meta_server: MetaServer) -> None:
    nursery = NurseryDriver(meta_server.client)

    assert nursery.merged_offset(OPEN_STREAM, LOGS) == 4
    assert nursery.merged_offset(OPEN_STREAM, TRACES) == 3
    assert nursery.merged_offset(STOPPED_STREAM, LOGS) == 1
    nursery.merge(LOGS, OPEN_STREAM, 4, 5)
    assert nursery.merged_offset(OPEN_STREAM, LOGS) == 5


def test_a_registration_that_0_1_0_answered_is_answered_again(meta_server: MetaServer) -> None:
    """Two streams and two segments in one call: 0.1.0 stored it in four rows."""
    nursery, writer = NurseryDriver(meta_server.client), Writer(meta_server.client)
    ids = [s.id for s in writer.find("app-logs").segments if s.created_version == 15]
    assert len(ids) == 2
    first, second = (_as_created(nursery, writer, segment_id) for segment_id in ids)

    reply = nursery.register(
        LOGS, (OPEN_STREAM, 3, 4), (STOPPED_STREAM, 0, 1), segment=first, more=[second]
    )

    assert reply.segment_version == 15


def _as_created(
    nursery: NurseryDriver, writer: Writer, segment_id: str
) -> common_pb2.CreateSegment:
    (info,) = writer.get(segment_id)
    return nursery.segment(LOGS, key=info.cloud_object_key.key)


def test_records_of_0_1_0_are_located(meta_server: MetaServer) -> None:
    operations = meta_server.client.operations

    reply = operations.LocateOffset(
        operations_pb2.LocateOffsetRequest(stream_id=STOPPED_STREAM, offset=1)
    )
    offsets = operations.GetOffsetsAt(
        operations_pb2.GetOffsetsAtRequest(dataset_id=LOGS, version=14)
    ).offsets

    assert [len(place.segments) for place in reply.locations if place.dataset_id == LOGS] == [2]
    assert {o.stream_id: o.stream_offset for o in offsets} == {OPEN_STREAM: 3, STOPPED_STREAM: 0}


def test_merge_tasks_planned_under_0_1_0_are_done(meta_server: MetaServer) -> None:
    worker = WorkerDriver(meta_server.client)

    assert worker.merge_all() == 5
    assert len(Writer(meta_server.client).find_ids("app-traces")) < 21


def test_a_dataset_deleted_under_0_1_0_comes_back(meta_server: MetaServer) -> None:
    client = meta_server.client
    reply = client.operations.UndeleteDataset(
        operations_pb2.UndeleteDatasetRequest(dataset_id=DELETED)
    )

    assert reply.success
    assert len(Writer(client).find_ids("old-logs")) == 1


def test_the_rows_of_0_1_0_are_consistent(meta_server: MetaServer) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = operations_pb2_grpc.OperationsServiceStub(channel)
        request = operations_pb2.CheckConsistencyRequest(end_of_listing=True)
        replies = list(stub.CheckConsistency(iter([request]), timeout=30))

    # There is no object behind any row here; what the rows say of one another must hold.
    kinds = {finding.kind for reply in replies for finding in reply.findings}
    assert replies[-1].complete
    assert kinds == {
        operations_pb2.FINDING_KIND_OBJECT_MISSING,
        operations_pb2.FINDING_KIND_BABY_MISSING,
    }


@pytest.mark.parametrize(("gap_end", "is_restored"), [(2**32, True), (0, False)])
def test_a_database_that_was_held_after_a_failover_counts_as_restored(
    empty_database_url: str, gap_end: int, is_restored: bool
) -> None:
    database = Database(DatabaseSettings(url=empty_database_url))
    migrations.upgrade(database, revision="0040")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("UPDATE meta_state SET deletion_held = true, gap_end = %s", (gap_end,))

    migrations.upgrade(database)

    with psycopg.connect(empty_database_url) as connection:
        row = connection.execute("SELECT restored_at IS NOT NULL FROM witness_state").fetchone()
    database.close()
    assert row == (is_restored,)


def test_a_server_starts_on_the_schema_of_a_later_release(
    database_url: str, meta_settings: Settings
) -> None:
    """As one that is started again during an upgrade; later schemas only add."""
    database = Database(DatabaseSettings(url=database_url))
    try:
        migrations.upgrade(database)
        with database.write() as tx:
            tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))

        started = server.start(meta_settings)
        started.stop(2.0)

        assert migrations.current_revision(database) == "9999"
    finally:
        database.close()


def test_a_start_at_the_head_waits_for_no_other_migration(
    database_url: str, meta_settings: Settings
) -> None:
    """A migration may run for long, and has nothing to change for this release."""
    database = Database(DatabaseSettings(url=database_url))
    migrations.upgrade(database)
    try:
        with database.write() as other:
            other.execute(text("SELECT pg_advisory_xact_lock(7310579241902114)"))

            started = server.start(meta_settings)
            started.stop(2.0)
    finally:
        database.close()
