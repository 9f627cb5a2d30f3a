"""ExplainDataset: the stages of merges, and those before deletion."""

import time
from dataclasses import replace
from uuid import UUID

import pytest

from meta.client import MetaClient
from meta.commits.merge_debts import HELD_AT
from meta.config import Settings
from meta.store.deletion.baselines import SEGMENTS_FLOOR
from meta.store.segments import burial
from meta.store.versions import versions
from meta.v1 import ingestion_pb2, operations_pb2
from meta.v1.common_pb2 import WorkerDatasets, WorkerSettings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.explanations import WORKERS, explain, report
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.janitor import rewrite
from tests.support.meta.pins import PinDriver
from tests.support.meta.resource_locks import REASON, LockDriver
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

SECOND = 10**9
DAY_SECS = 86_400
# Of the merge debt.
BOUND = 2


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that is over at once, failed tasks that come back, and a small merge debt."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0, fail_backoff=0.0)
    return replace(meta_settings, lifetimes=lifetimes, merge_debt_segments=BOUND)


@pytest.fixture
def web(meta_client: MetaClient) -> str:
    """Create dataset `web` with a stream, in an installation whose workers report."""
    catalog = CatalogDriver(meta_client)
    dataset_id = catalog.dataset("web")
    IngestionDriver(meta_client, "collector").register(catalog.token(dataset_id))
    report(meta_client, *WORKERS)
    return dataset_id


def test_small_segments_await_a_merge_beyond_the_number_that_merges_leave(
    web: str, writer: Writer, worker: WorkerDriver
) -> None:
    # The meta of tests leaves three of a day.
    began = time.time_ns()
    writer.save_many(web, 3)
    assert explain(writer.client) == {}
    writer.save(segment_of(web))

    held = explain(writer.client)
    assert held.keys() == {"MERGE_DEBT"}
    debt = held["MERGE_DEBT"]
    assert (debt.amount, debt.limit) == (4, BOUND)
    assert debt.detail == "in no task: 4 for the next planning"
    assert began - SECOND < debt.since_nanos < time.time_ns() + SECOND
    worker.plan()
    planned = explain(writer.client)
    assert planned["OPEN_TASKS"].amount == 1
    assert planned["MERGE_DEBT"].detail == ""
    worker.merge_all()
    assert explain(writer.client) == {}


def test_exports_are_refused_from_ten_times_the_bound_on(web: str, writer: Writer) -> None:
    refused_at = HELD_AT * BOUND
    writer.save_many(CatalogDriver(writer.client).dataset("below"), refused_at - 1)
    writer.save_many(web, refused_at)

    held = explain(writer.client)["EXPORTS_REFUSED"]

    assert (held.amount, held.limit) == (refused_at, refused_at)
    assert "EXPORTS_REFUSED" not in explain(writer.client, "below")


def test_no_merge_worker_is_missed_only_by_a_dataset_with_something_to_merge(
    web: str, writer: Writer, worker: WorkerDriver
) -> None:
    report(writer.client, "merge_worker", is_ending=True)
    assert explain(writer.client) == {}
    writer.save_many(web, 4)
    assert explain(writer.client).keys() == {"NO_MERGE_WORKER", "MERGE_DEBT"}

    worker.plan()
    task = worker.poll()
    worker.fail(task)

    held = explain(writer.client)
    assert held["NO_MERGE_WORKER"].since_nanos > 0
    assert list(held["OPEN_TASKS"].subjects) == [task.task_id]
    assert held["OPEN_TASKS"].detail == "1 of them have failed before"


def test_workers_are_limited_if_none_takes_tasks_of_a_dataset_with_something_to_merge(
    web: str, writer: Writer
) -> None:
    meta_client = writer.client
    default = CatalogDriver(meta_client).dataset("other")

    def limit(name: str, *ids: str) -> None:
        settings = WorkerSettings(datasets=WorkerDatasets(ids=ids))
        meta_client.operations.SetWorkerSettings(
            operations_pb2.SetWorkerSettingsRequest(name=name, settings=settings)
        )

    for name in ("merge_worker/a", "merge_worker/b", "nursery/c"):
        meta_client.ingestion.DownloadConfig(ingestion_pb2.DownloadConfigRequest(worker_id=name))
    limit("merge_worker/*", default)
    assert explain(meta_client) == {}
    writer.save_many(web, 4)
    writer.save_many(default, 4)

    held = explain(meta_client)["WORKERS_LIMITED"]
    assert (held.amount, set(held.subjects)) == (2, {"merge_worker/a", "merge_worker/b"})
    assert "WORKERS_LIMITED" not in explain(meta_client, "other")
    limit("merge_worker/b", default, web)
    assert "WORKERS_LIMITED" not in explain(meta_client)


def test_a_segment_that_no_merge_could_read_is_excluded(
    web: str, writer: Writer, worker: WorkerDriver
) -> None:
    (bad,) = writer.save(segment_of(web))
    rewrite(writer)
    for _ in range(5):
        worker.fail(worker.poll(), failed_segment_id=bad)

    held = explain(writer.client)

    assert held.keys() == {"EXCLUDED_SEGMENTS"}
    excluded = held["EXCLUDED_SEGMENTS"]
    assert (list(excluded.subjects), excluded.amount) == ([bad], 1)
    assert excluded.since_nanos > 0


def test_a_paused_rewrite_is_listed_with_what_it_has_to_do(
    web: str, meta_server: MetaServer, writer: Writer
) -> None:
    rewrites = RewriteDriver(writer.client, meta_server.running.database)
    writer.save_many(web, 2)
    job = rewrites.create(web)
    assert "REWRITE_PAUSED" not in explain(writer.client)
    rewrites.set_state(job, operations_pb2.REWRITE_JOB_STATE_PAUSED)

    held = explain(writer.client)["REWRITE_PAUSED"]

    assert (list(held.subjects), held.amount) == ([job.id], 2)
    rewrites.set_state(job, operations_pb2.REWRITE_JOB_STATE_CANCELLED)
    assert "REWRITE_PAUSED" not in explain(writer.client)


def test_a_hold_on_deletion_is_on_every_dataset(web: str, meta_client: MetaClient) -> None:
    meta_client.operations.HoldDeletion(operations_pb2.HoldDeletionRequest())

    assert explain(meta_client).keys() == {"DELETION_HELD"}
    assert "DELETION_HELD" in explain(meta_client, "default")
    request = operations_pb2.ReleaseDeletionHoldRequest()
    meta_client.operations.ReleaseDeletionHold(request)
    assert explain(meta_client) == {}


def test_the_deletion_brake_holds_the_segments_beyond_its_bound(
    web: str, meta_server: MetaServer, writer: Writer
) -> None:
    beyond = SEGMENTS_FLOOR + 1
    ids = writer.save(*(segment_of(web, EPOCH, compressed=2**28) for _ in range(beyond)))
    with meta_server.running.database.write() as tx:
        burial.bury(tx, list(map(UUID, ids)), versions.allocate(tx))
    assert explain(writer.client) == {}
    assert writer.due() == []

    held = explain(writer.client)

    assert held.keys() == {"DELETION_BRAKE"}
    assert held["DELETION_BRAKE"].amount == beyond
    assert held["DELETION_BRAKE"].since_nanos > 0
    assert "DELETION_BRAKE" not in explain(writer.client, "default")


def test_a_lock_has_its_holder_reason_and_end(web: str, meta_client: MetaClient) -> None:
    ends_at = (time.time_ns() // SECOND + DAY_SECS) * SECOND
    token = LockDriver(meta_client).lock("dataset", web, ends_at_nanos=ends_at).token

    held = explain(meta_client)

    assert held.keys() == {"LOCKED"}
    lock = held["LOCKED"]
    assert (list(lock.subjects), lock.detail) == (["anonymous"], REASON)
    assert lock.until_nanos == ends_at
    assert 0 < lock.since_nanos < ends_at
    LockDriver(meta_client).unlock("dataset", web, token)
    assert explain(meta_client) == {}


def test_pins_are_counted_with_the_last_of_their_ends(web: str, meta_client: MetaClient) -> None:
    pins = PinDriver(meta_client)
    taken = [pins.take("web") for _ in range(11)]
    pins.take("default")

    held = explain(meta_client)

    assert held.keys() == {"PINNED"}
    assert (held["PINNED"].amount, list(held["PINNED"].subjects)) == (11, [])
    assert held["PINNED"].since_nanos == min(pin.created_at_nanos for pin in taken)
    assert held["PINNED"].until_nanos == max(pin.ends_at_nanos for pin in taken)
    for pin in taken:
        pins.release(pin)
    assert explain(meta_client) == {}


def test_a_retention_has_the_time_at_which_the_first_segment_expires(
    web: str, writer: Writer
) -> None:
    settings = operations_pb2.DatasetSettings()
    settings.event_retention.FromSeconds(3_650 * DAY_SECS)
    set_settings(writer.client, web, settings)
    assert explain(writer.client) == {}
    last = EPOCH + 5 * SECOND
    writer.save(segment_of(web, EPOCH, last), segment_of(web, last, last + SECOND))

    by_events = explain(writer.client)["RETENTION"].until_nanos
    settings = operations_pb2.DatasetSettings()
    settings.created_retention.FromSeconds(3_600)
    set_settings(writer.client, web, settings)
    by_creation = explain(writer.client)["RETENTION"].until_nanos

    assert by_events == last + 3_650 * DAY_SECS * SECOND
    assert abs(by_creation - time.time_ns() - 3_600 * SECOND) < 60 * SECOND


def test_a_retention_that_ends_beyond_every_number_is_bounded(web: str, writer: Writer) -> None:
    settings = operations_pb2.DatasetSettings()
    settings.event_retention.FromSeconds(36_500 * DAY_SECS)
    set_settings(writer.client, web, settings)
    writer.save(segment_of(web, 2**63 - 2, 2**63 - 1))

    assert explain(writer.client)["RETENTION"].until_nanos == 2**63 - 1
