"""Texts that are longer than the bounds of a file may be: no filter leaves their rows out."""

import operator
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from segments.parquet.schema import section_schema
from segments.store.open import open_store
from segplane.read import open_dataset
from tests.segplane.query.conftest import QueryDriver
from tests.support.examples import some_or_all
from tests.support.gateway.segments import SegmentWriter
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.segments import EPOCH
from tests.support.meta.server import MetaServer

# Of a text in the bounds of a row group.
BYTES_MAX = 4_096
LONG = "m" * 5_000
GREATEST = "\U0010ffff" * 1_500
# Alone in a file, beside short texts, and with an upper bound that no shorter text is above.
FILES: tuple[tuple[str, ...], ...] = (
    (LONG,),
    (LONG + "a", LONG + "b"),
    ("a", LONG + "a", "z"),
    (GREATEST,),
    ("a", GREATEST + "z"),
    ("a", LONG[:BYTES_MAX]),
)
CONSTANTS = (LONG, LONG + "a", LONG[:BYTES_MAX], "m", "n", "z", GREATEST, GREATEST + "z")
OPERATORS = {"=": operator.eq, "<": operator.lt, ">": operator.gt}
COLUMNS = ("service_name", "metric_name")


@pytest.fixture(params=["written", "merged"])
def metrics(
    request: pytest.FixtureRequest, segments: SegmentWriter, meta_server: MetaServer, tmp_path: Path
) -> SegmentWriter:
    """Files of points whose services and names are long, or the one that they were merged to."""
    schema = section_schema("metrics")
    number = 0
    for texts in FILES:
        rows = []
        for text in texts:
            row = {"signal": "metrics", "timestamp": EPOCH + number, "value_long": number}
            rows.append(dict.fromkeys(schema.names) | row | dict.fromkeys(COLUMNS, text))
            number += 1
        segments.register({"metrics": pa.Table.from_pylist(rows, schema)}, segments.spec())
    if request.param == "merged":
        store = open_store(meta_server.settings.location)
        assert merge_all(segments.client, store, tmp_path / "merges") == 1
    return segments


@pytest.mark.long
@pytest.mark.parametrize("constants", some_or_all(CONSTANTS, 3))
def test_a_filter_finds_texts_beyond_the_bounds(
    metrics: SegmentWriter,
    queries: QueryDriver,
    meta_server: MetaServer,
    constants: tuple[str, ...],
) -> None:
    texts = [text for file in FILES for text in file]
    with open_dataset("web", meta_address=meta_server.address) as web:
        paths = [file.url.removeprefix("file://") for file in web.files()]
        lazy = web.polars()
        ways: dict[str, Callable[[str, str, str], list[int]]] = {
            "SQL": lambda *condition: sql(queries, *condition),
            "KQL": lambda *condition: kql(queries, *condition),
            "Polars": lambda *condition: polars(lazy, *condition),
            "DuckDB on files": lambda *condition: duckdb_on_files(paths, *condition),
            "Arrow on files": lambda *condition: arrow_on_files(paths, *condition),
        }
        for column in COLUMNS:
            for word, compare in OPERATORS.items():
                for constant in constants:
                    expected = [n for n, text in enumerate(texts) if compare(text, constant)]
                    for way, ask in ways.items():
                        shown = way, column, word, constant[:8], len(constant)
                        assert sorted(ask(column, word, constant)) == expected, shown


def test_bounds_of_long_texts_are_skipped_and_not_cut(
    metrics: SegmentWriter, meta_server: MetaServer
) -> None:
    with open_dataset("web", meta_address=meta_server.address) as web:
        paths = [file.url.removeprefix("file://") for file in web.files()]

    for path in paths:
        file = pq.ParquetFile(path)
        texts = [str(text) for text in file.read(["service_name"])["service_name"].to_pylist()]
        place = file.schema_arrow.names.index("service_name")
        statistics = file.metadata.row_group(0).column(place).statistics
        bounds = min(texts), max(texts)
        is_long = any(len(bound.encode()) > BYTES_MAX for bound in bounds)
        assert statistics is not None
        assert statistics.has_min_max is not is_long
        assert is_long or (statistics.min, statistics.max) == bounds


def sql(queries: QueryDriver, column: str, word: str, constant: str) -> list[int]:
    text = f"SELECT value_long FROM web WHERE {column} {word} '{constant}'"  # noqa: S608
    return [number for (number,) in queries.rows(text)]


def kql(queries: QueryDriver, column: str, word: str, constant: str) -> list[int]:
    compare = "==" if word == "=" else word
    text = f"web | where {column} {compare} '{constant}' | project value_long"
    return [number for (number,) in queries.rows(text)]


def polars(frame: pl.LazyFrame, column: str, word: str, constant: str) -> list[int]:
    condition = OPERATORS[word](pl.col(column), pl.lit(constant))
    return frame.filter(condition).collect()["value_long"].to_list()


def duckdb_on_files(paths: list[str], column: str, word: str, constant: str) -> list[int]:
    text = f"SELECT value_long FROM read_parquet(?) WHERE {column} {word} '{constant}'"  # noqa: S608
    return [number for (number,) in duckdb.execute(text, [paths]).fetchall()]


def arrow_on_files(paths: list[str], column: str, word: str, constant: str) -> list[int]:
    condition = OPERATORS[word](ds.field(column), constant)
    table = ds.dataset(paths).to_table(columns=["value_long"], filter=condition)
    return [int(number or 0) for number in table["value_long"].to_pylist()]
