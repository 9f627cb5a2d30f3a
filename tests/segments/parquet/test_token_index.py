"""A segment with a token index has the same rows for every reader; its footer names the index."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from segments.location import StoreLocation
from segments.merging.indexing import index_builder
from segments.parquet.content import read_local_content
from segments.signals import Signal
from segments.store.open import open_store
from segments.token_index import builder, pages
from segments.token_index.terms import term_hash
from tests.support.parquet.rows import plain, rows_of, write_segment
from tests.support.parquet.shelf import Shelf, order

TABLES: dict[Signal, pa.Table] = {
    "logs": rows_of("logs", 3_000, seed=1),
    "traces": rows_of("traces", 500, seed=2),
}


@pytest.fixture(autouse=True)
def small_files_have_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "SHARE_MAX", 10.0)


def test_every_reader_sees_the_same_rows(tmp_path: Path) -> None:
    with_index, without = tmp_path / "with.parquet", tmp_path / "without.parquet"
    _, facts = write_segment(with_index, TABLES, has_token_index=True)
    write_segment(without, TABLES)

    index = facts.content.token_index
    assert index is not None
    assert read_local_content(with_index).content == facts.content
    assert facts.compressed_size_bytes == with_index.stat().st_size
    assert with_index.stat().st_size - without.stat().st_size >= index.length
    assert pq.read_table(with_index).equals(pq.read_table(without))
    assert pl.read_parquet(with_index).equals(pl.read_parquet(without))
    rows = [duckdb.read_parquet(str(path)).fetchall() for path in (with_index, without)]
    assert Counter(map(repr, rows[0])) == Counter(map(repr, rows[1]))


def test_the_index_has_the_terms_of_every_row_group(tmp_path: Path) -> None:
    path = tmp_path / "segment.parquet"
    sections, facts = write_segment(path, TABLES, has_token_index=True)
    index, content = facts.content.token_index, path.read_bytes()

    assert index is not None
    for body in pc.unique(sections["logs"]["body"].drop_null()).to_pylist()[::20]:
        term = term_hash("body", str(body))
        offset, length = index.span([index.page_of(term)])
        assert pages.may_have(index, content[offset : offset + length], term)


def test_merges_of_many_rows_write_one(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    shelf = Shelf(open_store(StoreLocation.from_url(f"file://{tmp_path}/objects")), tmp_path)
    inputs = [shelf.put({"logs": TABLES["logs"]}), shelf.put({"traces": TABLES["traces"]})]

    asked = replace(order(), new_index=partial(index_builder, rows_min=3_500))
    few = shelf.merge(inputs[:1], asked).facts
    many = shelf.merge(inputs, asked).facts

    assert few.content.token_index is None
    assert many.content.token_index is not None
    merged = shelf.merged()
    assert Counter(plain(merged["logs"])) == Counter(plain(TABLES["logs"]))
