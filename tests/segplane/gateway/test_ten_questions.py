"""Ten questions at a pinned version, while merges, deletions and ingest go on."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from meta.config import Settings
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

# A table's metadata is kept for so long after it was handed out, and what merges replaced.
GRACE_SECS = 5.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that passes while the test runs."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=GRACE_SECS)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    opened = Shop(segments.client, segments)
    opened.open()
    return opened


@pytest.fixture
def pinned(shop: Shop, meta_server: MetaServer) -> int:
    """The pinned version of the shop."""
    return PinDriver(meta_server.client).take(lease_secs=600).version


@pytest.fixture
def changes(pinned: int, shop: Shop, meta_server: MetaServer, tmp_path: Path) -> Iterator[Churn]:
    """Changes of the shop, from when it is pinned."""
    others = Shop(shop.client, replace(shop.segments))
    with churn(others, meta_server, tmp_path / "merges") as state:
        yield state


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


@pytest.mark.parametrize("reader", ["PyIceberg", "Polars"])
def test_python_readers_answer_equally_while_all_else_goes_on(
    shop: Shop, version: int, gateway: GatewayServer, reader: str
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


@pytest.mark.readers
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engines_answer_equally_while_all_else_goes_on(
    shop: Shop,
    version: int,
    begin: Callable[[str], None],
    gateway: GatewayServer,
    meta_server: MetaServer,
    engine: Engine,
) -> None:
    engine.skip_if_missing()

    with running_steps(begin) as steps:
        catalog = catalog_of(gateway, meta_server.settings)
        answers = engine.ask(catalog, "web", version, steps=steps)

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)


@pytest.mark.readers
def test_trino_answers_equally_while_all_else_goes_on(
    shop: Shop,
    version: int,
    begin: Callable[[str], None],
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
