"""PlanDeletion: what holds segments, limits, refusals and roles."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, RoleRefused
from meta.roles import Role
from meta.services.status.deletion_plan import LIMIT_DEFAULT, LIMIT_MAX
from meta.v1 import catalog_pb2, operations_pb2, resources_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.pins import PinDriver
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer

DATASETS = """
    INSERT INTO datasets (id, name)
    SELECT gen_random_uuid(), 'many ' || lpad(n::text, 4, '0') FROM generate_series(1, {}) n
"""
# Tombstones that are due, one a dataset, the larger the later its name.
TOMBSTONES = """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
      tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events, prefix,
      object_name)
    SELECT gen_random_uuid(), key, 6, 1, 2, 1, 2, now() - interval '1 day', 1,
      right(name, 4)::bigint, 1, 'dataset', name
    FROM datasets WHERE starts_with(name, 'many ')
"""
PINS = """
    INSERT INTO pins (id, owner, dataset_key, version, expires_at, ends_at, held_segments,
      held_bytes)
    SELECT gen_random_uuid(), 'reader', key, 1, now() + interval '1 day', now() + interval '1 day',
      0, 0
    FROM datasets WHERE starts_with(name, 'many ')
"""


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as server:
        yield server


def execute(server: MetaServer, *statements: str) -> None:
    with server.running.database.write() as tx:
        for statement in statements:
            tx.exec_driver_sql(statement)


def plan(client: MetaClient, name: str | None = None, **fields: object) -> pb.PlanDeletionResponse:
    request = pb.PlanDeletionRequest(**fields)  # type: ignore[arg-type]
    if name is not None:
        request.dataset_name = name
    return client.status.PlanDeletion(request)


def bury(server: MetaServer) -> None:
    """Tombstone everything that is live, without a successor."""
    execute(
        server,
        "UPDATE segments SET tombstone_version = created_version + 1,"
        " tombstone_at = now() - interval '1 day' WHERE tombstone_version IS NULL",
    )


def obstacles(reply: pb.PlanDeletionResponse) -> list[tuple[str, int]]:
    name = pb.DeletionObstacle.Name
    return [(name(row.obstacle)[18:], row.segments) for row in reply.waiting]


def amount(rows: int, segments: int, size_bytes: int) -> pb.DeletionAmount:
    return pb.DeletionAmount(rows=rows, segments=segments, size_bytes=size_bytes)


def test_an_empty_installation_has_nothing_to_delete(meta_client: MetaClient) -> None:
    reply = plan(meta_client)

    assert (list(reply.planned), list(reply.waiting), list(reply.unfinished_vacuums)) == (
        [],
        [],
        [],
    )
    assert not reply.deletion_held
    assert reply.due == reply.within_week == reply.later == reply.all_waiting == amount(0, 0, 0)
    assert reply.database_time_nanos > 1_600_000_000_000_000_000


def test_each_obstacle_is_named_while_it_holds(
    meta_client: MetaClient, meta_server: MetaServer, writer: Writer, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    version = writer.find("web").snapshot_version
    pins, locks = PinDriver(meta_client, "a dashboard"), LockDriver(meta_client)
    pin = pins.take("web", version=version, lease_secs=3_000)
    bury(meta_server)

    (pinned,) = plan(meta_client, "web").waiting
    assert (pinned.obstacle, pinned.segments, pinned.size_bytes) == (1, 4, 4_000)
    assert (pinned.holder, pinned.version, pinned.dataset_name) == ("a dashboard", version, "web")
    assert pinned.until_nanos == pin.expires_at_nanos
    pins.release(pin)
    assert obstacles(plan(meta_client, "web")) == []

    token = locks.lock("dataset", dataset).token
    (locked,) = plan(meta_client, "web").waiting
    assert (locked.obstacle, locked.segments, locked.until_nanos) == (2, 4, 0)
    assert locked.holder == "anonymous"
    locks.unlock("dataset", dataset, token)
    (ended,) = plan(meta_client, "web").waiting
    assert (ended.obstacle, ended.holder) == (2, "")
    assert 0 < ended.until_nanos - plan(meta_client).database_time_nanos <= 86_400 * 10**9
    execute(meta_server, "UPDATE datasets SET hold_ends_at = NULL")

    execute(
        meta_server,
        "INSERT INTO deletion_brakes (dataset_key, braked_at, segments, size_bytes,"
        " live_size_bytes) SELECT key, now(), 4, 4, 0 FROM datasets WHERE name = 'web'",
    )
    assert obstacles(plan(meta_client, "web")) == [("BRAKE", 4)]
    release = operations_pb2.ReleaseDeletionHoldRequest(dataset_name="web")
    assert meta_client.operations.ReleaseDeletionHold(release).success
    assert obstacles(plan(meta_client, "web")) == []

    execute(meta_server, f"UPDATE segments SET tombstone_at = 'infinity' WHERE id = '{ids[0]}'")  # noqa: S608
    reply = plan(meta_client, "web")
    assert obstacles(reply) == [("HIDDEN", 1)]
    assert [(row.hour, row.segments) for row in reply.planned] == [(0, 3)]
    assert (reply.due, reply.all_waiting) == (amount(1, 3, 3_000), amount(1, 1, 1_000))
    assert len(writer.due()) == 3


def test_a_deleted_dataset_goes_after_a_week_or_its_files_stay(
    meta_client: MetaClient, writer: Writer, catalog: CatalogDriver
) -> None:
    going, kept = catalog.dataset("going"), catalog.dataset("kept")
    for one in (going, kept):
        writer.save_many(one, 2)
        request = catalog_pb2.DeleteDatasetRequest(id=one, keep_files=one == kept)
        assert meta_client.catalog.DeleteDataset(request).success

    reply = plan(meta_client)

    # A week, and the grace.
    (row,) = reply.planned
    assert (row.hour, row.cause, row.segments) == (169, pb.DELETION_CAUSE_DELETED_DATASET, 2)
    assert row.dataset_id == going
    assert obstacles(reply) == [("KEPT_FILES", 2)]
    assert plan(meta_client, dataset_id=going).planned == reply.planned
    assert plan(meta_client, dataset_id=kept).waiting == reply.waiting
    with pytest.raises(NotFound):
        plan(meta_client, "going")


def test_a_vacuum_makes_due_what_its_grace_kept(
    meta_client: MetaClient,
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 172800")
    writer.save_many(dataset, 4)
    worker.plan()
    assert worker.merge_all() == 1
    by = "interval '2 hours'"
    moved = f"created_at = created_at - {by}, tombstone_at = tombstone_at - {by}"
    execute(meta_server, f"UPDATE segments SET {moved}")  # noqa: S608
    (before,) = plan(meta_client).planned
    request = resources_pb2.VacuumDatasetsRequest(
        vacuum_id=str(uuid4()), dataset_name="web", older_than_secs=3_600
    )

    meta_client.resources.VacuumDatasets(request)

    reply = plan(meta_client)
    (after,) = reply.planned
    assert (before.hour, before.cause, before.segments) == (46, pb.DELETION_CAUSE_REPLACED, 4)
    assert (after.hour, after.cause, after.segments) == (0, pb.DELETION_CAUSE_VACUUM, 4)
    assert [(one.id, one.dataset_id) for one in reply.unfinished_vacuums] == [
        (request.vacuum_id, dataset)
    ]
    assert len(writer.due()) == 4


def test_a_hold_of_all_deletion_is_told(meta_client: MetaClient) -> None:
    meta_client.operations.HoldDeletion(operations_pb2.HoldDeletionRequest())

    assert plan(meta_client).deletion_held


def test_a_reply_has_a_thousand_rows_the_largest_of_an_hour_first(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    number = LIMIT_MAX + 1
    execute(meta_server, DATASETS.format(number), TOMBSTONES)
    total = number * (number + 1) // 2

    replies = {limit: plan(meta_client, limit=limit) for limit in (0, 1, LIMIT_MAX, number)}

    rows = {limit: len(reply.planned) for limit, reply in replies.items()}
    assert rows == {0: LIMIT_DEFAULT, 1: 1, LIMIT_MAX: LIMIT_MAX, number: LIMIT_MAX}
    assert replies[number].planned == replies[LIMIT_MAX].planned
    assert [row.size_bytes for row in replies[LIMIT_MAX].planned] == [*range(number, 1, -1)]
    assert {reply.due.size_bytes for reply in replies.values()} == {total}
    assert replies[1].planned_left_out == amount(LIMIT_MAX, LIMIT_MAX, total - number)
    assert replies[LIMIT_MAX].planned_left_out == amount(1, 1, 1)
    execute(meta_server, "DELETE FROM segments WHERE object_name = 'many 0001'")
    assert plan(meta_client, limit=LIMIT_MAX).planned_left_out == amount(0, 0, 0)


def test_what_waits_is_bounded_alike(meta_client: MetaClient, meta_server: MetaServer) -> None:
    number = LIMIT_MAX + 1
    execute(meta_server, DATASETS.format(number), TOMBSTONES, PINS)

    reply = plan(meta_client, limit=number)

    assert (len(reply.planned), len(reply.waiting)) == (0, LIMIT_MAX)
    assert reply.all_waiting == amount(number, number, number * (number + 1) // 2)
    assert reply.waiting_left_out == amount(1, 1, 1)
    assert plan(meta_client, limit=1).waiting[0] == reply.waiting[0]


def test_refusals_of_a_plan(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        plan(meta_client, "other")
    with pytest.raises(NotFound):
        plan(meta_client, dataset_id=str(uuid4()))
    for refused in ({"dataset_id": "x"}, {"dataset_id": ""}, {"name": ""}, {"limit": -1}):
        with pytest.raises(InvalidArgument):
            plan(meta_client, **refused)


def test_the_owner_of_a_pin_is_shown_to_those_who_may_list_it(
    guard: GuardedServer, meta_settings: Settings
) -> None:
    dataset = CatalogDriver(guard.admin).dataset("web")
    Writer(guard.admin).save_many(dataset, 2)
    with guard.client(Role.READER) as reader:
        PinDriver(reader, "a dashboard").take("web")
        with pytest.raises(RoleRefused):
            plan(reader)
    bury(MetaServer("", guard.admin, meta_settings, guard.running))

    with guard.client(Role.CATALOG) as catalog, guard.client(Role.JANITOR) as janitor:
        for client, holder in ((catalog, ""), (janitor, ""), (guard.admin, "a dashboard")):
            (waiting,) = plan(client).waiting
            assert (waiting.segments, waiting.holder) == (2, holder)
