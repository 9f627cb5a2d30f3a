"""The ten questions by every reader, over files of both formats: Iceberg's answers at the version.

Iceberg reads no files of format 1, so it is asked about the same records in files that are all of
format 2 and have the promoted column. Our readers are asked about both datasets.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from click.testing import CliRunner
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from janitor.config import Settings
from janitor.jobs import Tools, delete_tombstoned
from meta.process.shutdown import Shutdown
from segments.keys import DATASETS_ROOT
from segments.location import Stores
from segments.store.open import open_store
from segplane.__main__ import app
from segplane.read import OpenDataset, open_dataset
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.gateway.answers import Answers, answer, comparable, condition, expected
from tests.support.gateway.engine_script import plain_rows
from tests.support.gateway.questions import DUCKDB, QUESTIONS, SPARK, Question
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer
from tests.support.meta.shared import shared_meta

pytestmark = pytest.mark.spark
MIXED, WHOLE = "mixed", "whole"


@dataclass(frozen=True)
class Asked:
    """Two datasets with the same records at a version, and Iceberg's answers about them."""

    meta: MetaServer
    version: int
    answers: Answers

    def open(self, name: str) -> OpenDataset:
        return open_dataset(name, as_of=self.version, meta_address=self.meta.address)

    def options(self, name: str) -> dict[str, str]:
        return {
            "dataset": name,
            "version": str(self.version),
            "metaAddress": self.meta.address,
        }


@pytest.fixture(scope="module")
def asked(
    postgres: EmbeddedPostgres,
    template_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Asked]:
    """Write the records, ask Iceberg, and have every file replaced that the version shows."""
    folder = tmp_path_factory.mktemp("questions")
    grace = {"META_TOMBSTONE_GRACE_SECS": "0"}
    with shared_meta(postgres, template_database, folder / "objects", grace) as meta:
        shop = Shop(meta.client, _writer(meta, MIXED, folder), formats=(1, 2))
        shop.open()
        whole = shop.copy_whole(_writer(meta, WHOLE, folder))
        known = expected(whole)
        pins = PinDriver(meta.client)
        version = pins.take(MIXED, lease_secs=600).version
        assert pins.take(WHOLE, version=version, lease_secs=600).version == version
        _replace_all(meta, [shop, whole], folder / "merges")

        answers = _iceberg(meta, version)

        assert answers == known
        yield Asked(meta, version, answers)


def _writer(meta: MetaServer, name: str, folder: Path) -> SegmentWriter:
    return SegmentWriter(meta.client, CatalogDriver(meta.client).dataset(name), folder)


def _replace_all(meta: MetaServer, shops: list[Shop], folder: Path) -> None:
    """Merge what the version shows with later files, and delete what no pin holds."""
    location = meta.settings.location
    store = open_store(location)
    for shop in shops:
        for day in range(4):
            for _ in range(2):
                shop.write(EPOCH + day * DAY, DAY, rows=5)
    assert merge_all(meta.client, store, folder, shops[0].segments.spec())
    before = len(list(store.list(DATASETS_ROOT)))
    delete_tombstoned(
        Tools(meta.client, store, Stores(location), Settings(), Shutdown(), "janitor")
    )
    assert len(list(store.list(DATASETS_ROOT))) < before


def _iceberg(meta: MetaServer, version: int) -> Answers:
    gateway = GatewayServer(meta.address)
    try:
        catalog = load_catalog("segplane", type="rest", uri=gateway.uri)
        table = catalog.load_table(f"default.{WHOLE}@{version}")
        return {
            question.name: answer(question, table.scan(row_filter=condition(question)).to_arrow())
            for question in QUESTIONS
        }
    finally:
        gateway.close()


def _moments(question: Question) -> tuple[datetime, datetime] | None:
    """The first time that a question is about, and the first one behind."""
    told = question.conditions()["span"]
    return (datetime.fromisoformat(told[0]), datetime.fromisoformat(told[1])) if told else None


def _arrow(asked: Asked, name: str, question: Question) -> list[Any]:
    source = asked.open(name).to_arrow()
    if not isinstance(source, ds.Dataset):
        return answer(question, source.read_all())
    where = pc.scalar(True)
    if question.signal:
        where &= pc.field("signal") == question.signal
    if question.equal:
        where &= pc.field(question.equal[0]) == question.equal[1]
    if span := _moments(question):
        where &= (pc.field("timestamp") >= span[0]) & (pc.field("timestamp") < span[1])
    return answer(question, source.to_table(filter=where))


def _duckdb(asked: Asked, name: str, question: Question) -> list[Any]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        asked.open(name).duckdb(connection).create_view("t")
        return _plain(connection.sql(question.sql(DUCKDB, "t")).to_arrow_table())


def _polars(asked: Asked, name: str, question: Question) -> list[Any]:
    import polars as pl

    frame = asked.open(name).polars()
    if question.signal:
        frame = frame.filter(pl.col("signal") == question.signal)
    if question.equal:
        frame = frame.filter(pl.col(question.equal[0]) == question.equal[1])
    if span := _moments(question):
        frame = frame.filter(pl.col("timestamp").is_between(*span, closed="left"))
    return answer(question, frame.collect().to_arrow())


def _pandas(asked: Asked, name: str, question: Question) -> list[Any]:
    frame = asked.open(name).pandas()
    if question.signal:
        frame = frame[frame["signal"] == question.signal]
    if question.equal:
        frame = frame[frame[question.equal[0]] == question.equal[1]]
    if span := _moments(question):
        frame = frame[(frame["timestamp"] >= span[0]) & (frame["timestamp"] < span[1])]
    return answer(question, pa.Table.from_pandas(frame, preserve_index=False))


def _sql(asked: Asked, name: str, question: Question) -> list[Any]:
    arguments = ["sql", "--json", "--as-of", str(asked.version), "-c", question.sql(DUCKDB, name)]
    done = CliRunner().invoke(app, [*arguments, "--meta-address", asked.meta.address])
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    for row in rows:
        if question.name == "all columns of one record":
            # Computed in SQL's views, and no column of files.
            del row["value"]
        for column in ("timestamp", "observed_timestamp", "start_timestamp"):
            if row.get(column):
                row[column] = datetime.fromisoformat(row[column])
    return comparable(plain_rows(rows))


def _plain(table: pa.Table) -> list[Any]:
    return comparable(plain_rows(table.to_pylist()))


READERS: dict[str, Callable[[Asked, str, Question], list[Any]]] = {
    "to_arrow": _arrow,
    "duckdb": _duckdb,
    "polars": _polars,
    "pandas": _pandas,
    "segplane sql": _sql,
}


# The mixed one has files of the whole one's format as well.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("dataset", [MIXED, pytest.param(WHOLE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reader", READERS)
def test_readers_answer_as_iceberg_does(asked: Asked, reader: str, dataset: str) -> None:
    answers = {one.name: READERS[reader](asked, dataset, one) for one in QUESTIONS}

    assert answers == asked.answers


@pytest.mark.slow
@pytest.mark.parametrize("path", ["format", "session"])
def test_spark_answers_as_iceberg_does(asked: Asked, spark: SparkSession, path: str) -> None:
    # Compiling a query for each shape takes longer than so few rows.
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        spark.conf.set(name, "false")
    with asked.open(MIXED) as opened:
        frame: DataFrame = (
            spark.read.format("segplane").options(**asked.options(MIXED)).load()
            if path == "format"
            else opened.spark(spark)
        )
        frame.createOrReplaceTempView("t")

        answers = {one.name: _plain(spark.sql(one.sql(SPARK, "t")).toArrow()) for one in QUESTIONS}

    assert answers == asked.answers
