"""Reads of a bucket by each engine for each of the ten questions: footers, row groups, bytes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from segments.keys import DATASETS_ROOT
from segments.signals import SIGNALS
from segments.store.open import open_store
from tests.support.gateway.answers import (
    Answers,
    answer,
    catalog_of,
    comparable,
    condition,
    expected,
    polars_rows,
)
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.questions import QUESTIONS, TRINO, Dialect
from tests.support.gateway.read_figures import LARGE, TRACE, Figures, check_figures
from tests.support.gateway.reads import Reads
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import HOUR_MICROS, Shop, replace_columns
from tests.support.gateway.steps import running_steps
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import DAY, EPOCH
from tests.support.object_store.faulty_proxy import FaultyProxy
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.parquet.rows import rows_of

pytestmark = pytest.mark.readers
# A file of these has 900 kB, in which no engine takes a footer for the whole.
ROWS = 4_000
# One file is of another size: some engines read files of a few megabytes in one go.
LARGE_ROWS = 40_000
# Each reads a file of 900 kB in one go, with all of its row groups.
WHOLE_FILES = ("ClickHouse", "Spark 3.5", "Spark 4.1", "Trino")


class Counts:
    """Reads of each question."""

    def __init__(self, store: FaultyProxy, files: dict[str, bytes]) -> None:
        self._store = store
        self._files = files
        self._reads: dict[str, Reads] = {}

    def begin(self, question: str) -> None:
        """Count for this question from now on."""
        self._reads[question] = Reads(self._files)
        self._store.fault = self._reads[question].pass_on

    def shown(self) -> dict[str, dict[str, int]]:
        """Return the figures of each question."""
        return {name: reads.shown() for name, reads in self._reads.items()}


@pytest.fixture
def meta_settings(meta_settings: Settings, store: FaultyProxy) -> Settings:
    return replace(meta_settings, location=fresh_location(store.url))


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    opened = Shop(segments.client, segments, rows=ROWS)
    opened.open()
    return opened


@pytest.fixture
def large(segments: SegmentWriter) -> str:
    """A dataset of one file of 9 MB, and the id of one of its traces."""
    dataset = CatalogDriver(segments.client).dataset("large")
    writer = replace(segments, dataset=dataset)
    spec = writer.spec()
    times = [EPOCH + number * DAY // LARGE_ROWS for number in range(LARGE_ROWS)]
    traces = [f"{number:032x}" for number in range(LARGE_ROWS)]
    tables = {}
    for signal in SIGNALS:
        rows = rows_of(signal, ROWS, spec)
        table = pa.concat_tables([rows] * (LARGE_ROWS // ROWS)).unify_dictionaries()
        columns: dict[str, list[Any]] = {"timestamp": times}
        if signal != "metrics":
            columns["trace_id"] = traces
        tables[signal] = replace_columns(table, columns)
    writer.register(tables, spec)
    return traces[LARGE_ROWS // 2]


@pytest.fixture
def counts(shop: Shop, large: str, meta_settings: Settings, store: FaultyProxy) -> Counts:
    bucket = open_store(meta_settings.location)
    files = {one.key: bucket.get(one.key) for one in bucket.list(DATASETS_ROOT)}
    assert len(files) == shop.segments.files + 1
    return Counts(store, files)


def check_pruning(reader: str, figures: Figures) -> None:
    """Three of ten files hold the hour; one of three row groups in each holds traces."""
    trace = figures[TRACE]
    assert trace["objects"] == 3
    assert trace["row groups"] <= (9 if reader in WHOLE_FILES else 3)
    if LARGE in figures:
        # ClickHouse reads 4 MiB at a time.
        assert figures[LARGE]["row groups"] <= (3 if reader == "ClickHouse" else 1)


def trace_of(trace_id: str, dialect: Dialect, gateway: GatewayServer) -> str:
    """Ask for a trace of the large file."""
    version = gateway.table("large").json["metadata"]["current-snapshot-id"]
    middle = (EPOCH + DAY // 2) // 1_000
    return (
        f"SELECT count(*) AS n FROM {dialect.table('large', version)} WHERE signal = 'traces'"  # noqa: S608
        f" AND trace_id = '{trace_id}' AND {dialect.between(middle, middle + HOUR_MICROS)}"
    )


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engines_read_what_is_recorded(
    shop: Shop,
    large: str,
    gateway: GatewayServer,
    meta_settings: Settings,
    counts: Counts,
    engine: Engine,
) -> None:
    engine.skip_if_missing()
    version = gateway.table().json["metadata"]["current-snapshot-id"]

    more = {LARGE: trace_of(large, engine.dialect, gateway)}
    with running_steps(counts.begin) as steps:
        catalog = catalog_of(gateway, meta_settings)
        answers = engine.ask(catalog, "web", version, steps=steps, more=more)

    found = answers.pop(LARGE, None)
    assert found is None or comparable(found["rows"]) == [[1]]
    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
    figures = counts.shown()
    check_figures(engine.name, figures)
    check_pruning(engine.name, figures)


def test_trino_reads_what_is_recorded(
    shop: Shop,
    large: str,
    gateway: GatewayServer,
    meta_settings: Settings,
    counts: Counts,
    tmp_path: Path,
) -> None:
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    # What one question read is read again for the next.
    changes = {"iceberg.metadata-cache.enabled": "false"}
    trino = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_settings), changes)
    try:
        answers = trino.ask("web", version, counts.begin)
        counts.begin(LARGE)
        assert comparable(trino.query(trace_of(large, TRINO, gateway))[0]) == [[1]]
    finally:
        trino.close()

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
    figures = counts.shown()
    check_figures("Trino", figures)
    check_pruning("Trino", figures)


@pytest.mark.parametrize("reader", ["PyIceberg", "Polars"])
def test_python_readers_read_what_is_recorded(
    shop: Shop, gateway: GatewayServer, counts: Counts, reader: str
) -> None:
    keys = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}
    table = load_catalog("segplane", type="rest", uri=gateway.uri, **keys).load_table("default.web")
    storage = {
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
        "aws_endpoint_url": table.io.properties["s3.endpoint"],
        "aws_region": table.io.properties["s3.region"],
    }
    answers: Answers = {}

    for question in QUESTIONS:
        counts.begin(question.name)
        if reader == "PyIceberg":
            rows = table.scan(row_filter=condition(question)).to_arrow()
        else:
            rows = polars_rows(table, question, storage)
        answers[question.name] = answer(question, rows)

    assert answers == expected(shop)
    figures = counts.shown()
    check_figures(reader, figures)
    check_pruning(reader, figures)
