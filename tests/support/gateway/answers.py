"""Answers to the ten questions: expected ones, those of Python's readers, and what was read."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression

from meta.config import Settings
from segplane.cli.iceberg_settings import CatalogAddress
from tests.support.gateway.engine_script import plain_rows
from tests.support.gateway.questions import DUCKDB, QUESTIONS, Question
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop

Answers = dict[str, list[Any]]


def catalog_of(gateway: GatewayServer, meta_settings: Settings) -> CatalogAddress:
    """The gateway and the store behind it, as `segplane iceberg info` knows them."""
    return CatalogAddress(gateway.uri, meta_settings.location, has_token=False)


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


def polars_rows(table: Any, question: Question, storage: dict[str, str] | None = None) -> pa.Table:
    frame = pl.scan_iceberg(table, storage_options=storage)
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


def record(reader: str, read: dict[str, dict[str, int]]) -> None:
    """Keep what a reader read for each question, for docs/reading."""
    path = Path("build/readers/read.json")
    if "SEGPLANE_RECORD_READS" in os.environ and path.parent.is_dir():
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(known | {reader: read}, indent=1))
