"""Ten questions at a pinned version, while merges, deletions and ingest go on."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression

from meta.config import Settings
from tests.support.gateway.churn import churn
from tests.support.gateway.engine_script import plain_rows
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.questions import DUCKDB, QUESTIONS, Question
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.pins import PinDriver
from tests.support.meta.server import MetaServer

Answers = dict[str, list[Any]]
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
def version(shop: Shop, meta_server: MetaServer, tmp_path: Path) -> Iterator[int]:
    """The pinned version of the shop, which changes from now on."""
    pin = PinDriver(meta_server.client).take(lease_secs=600)
    others = Shop(shop.client, replace(shop.segments))
    with churn(others, meta_server, tmp_path / "merges"):
        yield pin.version


def comparable(rows: list[dict[str, Any]]) -> list[Any]:
    """Rows without the names that an engine gave to expressions, in one order."""
    if rows and len(rows[0]) > 5:
        return [dict(sorted(row.items())) for row in rows]
    return sorted((list(row.values()) for row in rows), key=repr)


def answer(question: Question, table: pa.Table) -> list[Any]:
    with duckdb.connect() as database:
        database.register("t", table)
        database.execute("SET TimeZone = 'UTC'")
        found = database.sql(question.sql(DUCKDB, "t")).to_arrow_table()
    return comparable(plain_rows(found.to_pylist()))


def expected(shop: Shop) -> Answers:
    rows = shop.all_rows()
    return {question.name: answer(question, rows) for question in QUESTIONS}


def condition(question: Question) -> str | BooleanExpression:
    told = question.conditions()
    parts = [f"signal = '{told['signal']}'"] if told["signal"] else []
    if told["equal"]:
        name, value = told["equal"]
        parts.append(f"{name} = '{value}'")
    if told["span"]:
        low, high = told["span"]
        parts.append(f"timestamp >= '{low}' AND timestamp < '{high}'")
    return " AND ".join(parts) or AlwaysTrue()


def polars_rows(table: Any, question: Question) -> pa.Table:
    frame = pl.scan_iceberg(table)
    told = question.conditions()
    if told["signal"]:
        frame = frame.filter(pl.col("signal") == told["signal"])
    if told["equal"]:
        name, value = told["equal"]
        frame = frame.filter(pl.col(name) == value)
    if told["span"]:
        low, high = map(datetime.fromisoformat, told["span"])
        frame = frame.filter((pl.col("timestamp") >= low) & (pl.col("timestamp") < high))
    return frame.collect().to_arrow()


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
    shop: Shop, version: int, gateway: GatewayServer, engine: Engine
) -> None:
    engine.skip_if_missing()

    answers = engine.ask(gateway.uri, "web", version)

    record(engine.name, {name: one["read"] for name, one in answers.items()})
    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)


@pytest.mark.readers
def test_trino_answers_equally_while_all_else_goes_on(
    shop: Shop, version: int, gateway: GatewayServer, tmp_path: Path
) -> None:
    trino = TrinoServer(tmp_path / "trino", gateway.uri)
    try:
        answers = trino.ask("web", version)
    finally:
        trino.close()

    record("Trino", {name: one["read"] for name, one in answers.items()})
    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)


def record(reader: str, read: dict[str, dict[str, int]]) -> None:
    """Keep what a reader read for each question, for docs/reading."""
    path = Path("build/readers/read.json")
    if "SEGPLANE_RECORD_READS" in os.environ and path.parent.is_dir():
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(known | {reader: read}, indent=1))
