"""Merges that fall behind make flushes larger, and beyond a second bound exports are held."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.ingestion import Ingestion, MonthlyUsage
from collector.intake.quotas import HELD_SECS, Quotas
from collector.refusal import Refused
from meta import config
from meta.client import MetaClient
from meta.commits import merge_debts
from meta.errors import Code
from meta.v1 import operations_pb2
from nursery.planning.pending import PATIENCE_MAX, Limits, due_datasets, patience, pending_streams
from nursery.planning.streams import BabyFacts, IngestStream
from tests.support.clock import SettableClock
from tests.support.collector.seat import run
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer
from tests.support.nursery.drivers import CollectorDriver, nursery, texts
from tests.support.nursery.passing_time import let_pass
from tests.support.visible_segments import find

BOUND = 4
FILES_MAX = 3


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings, monkeypatch: pytest.MonkeyPatch
) -> config.Settings:
    """A meta with a small bound, which counts at every question and merges small days."""
    monkeypatch.setattr(merge_debts, "AGE_SECS_MAX", -1.0)
    policy = replace(meta_settings.merge_policy, files_max=FILES_MAX)
    return replace(meta_settings, merge_debt_segments=BOUND, merge_policy=policy)


def usage(client: MetaClient, dataset_id: str) -> operations_pb2.DatasetUsage:
    request = operations_pb2.GetUsageRequest(dataset_ids=[dataset_id])
    return client.operations.GetUsage(request).usage[0]


def test_flushes_become_larger_while_merges_are_behind(
    collector: CollectorDriver, meta_client: MetaClient, database_url: str, tmp_path: Path
) -> None:
    driver = nursery(meta_client, wait_secs=600.0)

    def pass_and_cycle(seconds: float) -> int:
        let_pass(collector, database_url, seconds)
        driver.cycle()
        return len(find(meta_client))

    for number in range(BOUND + 1):
        collector.send(f"{number}")
        assert pass_and_cycle(601.0) == number + 1
    assert usage(meta_client, collector.dataset_id).merge_debt == BOUND + 1
    # A quarter beyond the bound, what comes waits a quarter longer, and is one segment then.
    for number in range(3):
        collector.send(f"late {number}")
    assert pass_and_cycle(601.0) == BOUND + 1
    assert pass_and_cycle(200.0) == BOUND + 2

    while merge_all(meta_client, collector.store, tmp_path / str(len(find(meta_client)))):
        pass
    assert usage(meta_client, collector.dataset_id).merge_debt == 0
    collector.send("soon")
    pass_and_cycle(601.0)
    assert "soon" in texts(collector)
    assert len(texts(collector)) == BOUND + 5


def test_exports_are_held_at_the_second_bound_until_merges_have_caught_up(
    meta_client: MetaClient,
) -> None:
    writer, worker = Writer(meta_client), WorkerDriver(meta_client)
    dataset_id = CatalogDriver(meta_client).dataset("web")
    clock = SettableClock(0.0)
    quotas = Quotas(Ingestion(meta_client, "c"), 5.0, clock)
    most = BOUND * merge_debts.HELD_AT

    async def held(exports: int) -> int:
        clock.now += 10.0
        refused = []
        for _ in range(exports):
            try:
                await quotas.check(dataset_id)
            except Refused as error:
                refused.append(error.refusal)
        for refusal in refused:
            assert refusal.code is Code.RESOURCE_EXHAUSTED
            assert refusal.retry_after_secs == HELD_SECS
            assert "segments of dataset web wait for a merge" in refusal.message
        return len(refused)

    async def steps() -> None:
        writer.save_many(dataset_id, most - 1)
        assert await held(10) == 0
        writer.save_many(dataset_id, 1)
        assert await held(10) == 5
        writer.save_many(dataset_id, most)
        assert await held(10) == 10
        worker.plan()
        while worker.merge_all():
            worker.plan()
        assert await held(10) == 0

    run(steps())
    assert usage(meta_client, dataset_id).merge_debt_max == most


def test_days_that_no_merge_would_touch_are_not_debt(meta_client: MetaClient) -> None:
    """Years of a few segments a day must not hold exports that no merge worker could free."""
    writer, worker = Writer(meta_client), WorkerDriver(meta_client)
    dataset_id = CatalogDriver(meta_client).dataset("web")
    for day in range(BOUND * merge_debts.HELD_AT):
        writer.save_many(dataset_id, FILES_MAX, EPOCH + day * DAY)
    worker.plan()

    assert worker.find_task() is None
    assert usage(meta_client, dataset_id).merge_debt == 0

    writer.save_many(dataset_id, BOUND, EPOCH)
    assert usage(meta_client, dataset_id).merge_debt == FILES_MAX + BOUND


def test_a_bound_of_zero_holds_nothing(meta_client: MetaClient) -> None:
    assert MonthlyUsage(operations_pb2.DatasetUsage(limit=-1, merge_debt=10**9)).held_share == 0.0
    assert patience(10**9, 0) == 1.0


@given(segments=st.integers(0, 10**9), bound=st.integers(1, 10**6))
def test_patience_is_bounded(segments: int, bound: int) -> None:
    assert 1.0 <= patience(segments, bound) <= PATIENCE_MAX
    assert segments > bound or patience(segments, bound) == 1.0


@given(
    age_secs=st.integers(0, 200),
    size_bytes=st.integers(1, 10**6),
    wait_secs=st.integers(0, 10),
    times=st.floats(1.0, PATIENCE_MAX),
)
def test_a_dataset_that_is_behind_is_due_later_and_within_a_bound(
    age_secs: int, size_bytes: int, wait_secs: int, times: float
) -> None:
    now = 10**18
    baby = BabyFacts(0, size_bytes, now - age_secs * 10**9, frozenset(["d"]))
    stream = IngestStream("s", 0, {"d": -1}, (baby,))
    limits = Limits(10**9, 10, wait_secs=wait_secs, bytes_min=10**5)

    def is_due(limits: Limits) -> bool:
        return bool(due_datasets(pending_streams([stream], {}), limits, now))

    is_behind = is_due(replace(limits, patience={"d": times}))
    assert not is_behind or is_due(limits)
    if age_secs >= PATIENCE_MAX * max(1, wait_secs):
        assert is_behind
