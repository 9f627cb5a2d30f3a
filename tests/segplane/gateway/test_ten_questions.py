"""Ten questions at a pinned version, while merges, deletions and ingest go on."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from meta.config import Settings
from meta.v1.operations_pb2 import GetServerStateRequest
from nursery.execution import job
from nursery.loop import RunTasks
from segments.spark.jobs import SparkJobs
from segments.spark.settings import SparkSettings
from tests.support.gateway.answers import (
    Answers,
    answer,
    catalog_of,
    comparable,
    condition,
    expected,
    polars_rows,
    record,
)
from tests.support.gateway.arrivals import records_at, sent_ids
from tests.support.gateway.churn import Churn, churn
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.questions import QUESTIONS
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.gateway.steps import running_steps
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.pins import PinDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import BUDGET, run_here
from tests.support.spark import shared_session

# A table's metadata is kept for so long after it was handed out, and what merges replaced.
GRACE_SECS = 5.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that passes while the test runs, and flushes that are quick."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=GRACE_SECS)
    streams = replace(meta_settings.stream, flush_timeout_ms=200)
    return replace(meta_settings, lifetimes=lifetimes, stream=streams)


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    opened = Shop(segments.client, segments)
    opened.open()
    return opened


@pytest.fixture
def pinned(shop: Shop, meta_server: MetaServer) -> int:
    """The pinned version of the shop."""
    return PinDriver(meta_server.client).take(lease_secs=600).version


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Give a session to the nurseries of a module's tests."""
    return shared_session()


@pytest.fixture
def run_tasks(request: pytest.FixtureRequest) -> RunTasks:
    """Run a nursery's tasks in Spark, where engines are installed; otherwise here."""
    if request.node.get_closest_marker("readers") is None:
        return run_here
    spark: SparkSession = request.getfixturevalue("spark")
    return partial(job.run, SparkJobs(spark, SparkSettings("test")), BUDGET)


@pytest.fixture
def changes(
    pinned: int, shop: Shop, meta_server: MetaServer, run_tasks: RunTasks, tmp_path: Path
) -> Iterator[Churn]:
    """Changes of the shop, from when it is pinned."""
    others = Shop(shop.client, replace(shop.segments))
    with churn(others, meta_server, tmp_path / "merges", run_tasks) as state:
        yield state


@pytest.fixture
def all_arrived(
    pinned: int, shop: Shop, changes: Churn, gateway: GatewayServer
) -> Callable[[], None]:
    """End the changes, and compare what was pinned and what is newest with what was sent."""

    def check() -> None:
        changes.end()
        client = changes.ingest.client
        newest = client.operations.GetServerState(GetServerStateRequest()).version
        catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
        seeded = sum(table.num_rows for table in shop.tables)
        sent = sorted(record.id for record in changes.ingest.acknowledged)

        assert (sent_ids(catalog, pinned), records_at(client, pinned)) == ([], seeded)
        assert sent_ids(catalog, newest) == sent
        assert records_at(client, newest) == seeded + changes.records()

    return check


@pytest.fixture
def version(pinned: int, changes: Churn) -> int:
    """The pinned version of the shop, which changes from now on."""
    changes.check()
    return pinned


@pytest.fixture
def begin(changes: Churn) -> Callable[[str], None]:
    """Before one of the questions, wait for more changes since the one before."""

    def wait(question: str) -> None:
        if question == QUESTIONS[5].name:
            changes.wait_for_more()

    return wait


def test_the_questions_have_answers(shop: Shop) -> None:
    answers = expected(shop)

    assert all(answers.values())
    assert not [name for name, rows in answers.items() if rows in ([[0]], [[None]], [[0, None]])]
    assert len(answers["all columns of one record"]) == 1


@pytest.mark.long
@pytest.mark.parametrize("reader", ["PyIceberg", pytest.param("Polars", marks=pytest.mark.slow)])
def test_python_readers_answer_equally_while_all_else_goes_on(
    shop: Shop,
    version: int,
    gateway: GatewayServer,
    all_arrived: Callable[[], None],
    reader: str,
) -> None:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
    table = catalog.load_table(f"default.web@{version}")
    answers: Answers = {}
    files = {}

    for question in QUESTIONS:
        if reader == "PyIceberg":
            scan = table.scan(row_filter=condition(question))
            answers[question.name] = answer(question, scan.to_arrow())
            files[question.name] = len(list(scan.plan_files()))
        else:
            answers[question.name] = answer(question, polars_rows(table, question))

    record(reader, {name: {"files": number} for name, number in files.items()})
    assert answers == expected(shop)
    assert catalog.load_table("default.web").metadata.current_snapshot_id != version
    all_arrived()


@pytest.mark.readers
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engines_answer_equally_while_all_else_goes_on(
    shop: Shop,
    version: int,
    begin: Callable[[str], None],
    all_arrived: Callable[[], None],
    gateway: GatewayServer,
    meta_server: MetaServer,
    engine: Engine,
) -> None:
    engine.skip_if_missing()

    with running_steps(begin) as steps:
        catalog = catalog_of(gateway, meta_server.settings)
        answers = engine.ask(catalog, "web", version, steps=steps)

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
    all_arrived()


@pytest.mark.readers
def test_trino_answers_equally_while_all_else_goes_on(
    shop: Shop,
    version: int,
    begin: Callable[[str], None],
    all_arrived: Callable[[], None],
    gateway: GatewayServer,
    meta_server: MetaServer,
    tmp_path: Path,
) -> None:
    trino = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_server.settings))
    try:
        answers = trino.ask("web", version, begin)
    finally:
        trino.close()

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
    all_arrived()
