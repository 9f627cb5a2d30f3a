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

from segments.facts import written
from segments.facts.token_index import place_of
from segments.location import StoreLocation
from segments.merging.merge import index_builder
from segments.parquet import row_groups
from segments.parquet.content import read_local_content
from segments.parquet.reader import SegmentFile
from segments.signals import Signal
from segments.store.open import open_store
from segments.token_index import builder
from segments.token_index.blocks import read_block
from segments.token_index.place import IndexedSpan, block_of
from segments.token_index.terms import term_hash
from tests.support.parquet.rows import plain, rows_of, write_segment
from tests.support.parquet.shelf import Shelf, order

TABLES: dict[Signal, pa.Table] = {
    "logs": rows_of("logs", 3_000, seed=1),
    "traces": rows_of("traces", 500, seed=2),
}


@pytest.fixture(autouse=True)
def small_files_have_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)


def test_every_reader_sees_the_same_rows(tmp_path: Path) -> None:
    with_index, without = tmp_path / "with.parquet", tmp_path / "without.parquet"
    _, facts = write_segment(with_index, TABLES, has_token_index=True)
    write_segment(without, TABLES)

    index = place_of(facts.content.written)
    assert index is not None
    assert read_local_content(with_index).content == facts.content
    assert facts.compressed_size_bytes == with_index.stat().st_size
    assert with_index.stat().st_size - without.stat().st_size >= index.length
    assert pq.read_table(with_index).equals(pq.read_table(without))
    assert pl.read_parquet(with_index).equals(pl.read_parquet(without))
    rows = [duckdb.read_parquet(str(path)).fetchall() for path in (with_index, without)]
    assert Counter(map(repr, rows[0])) == Counter(map(repr, rows[1]))


def test_the_index_has_the_terms_of_every_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "segment.parquet"
    monkeypatch.setattr(row_groups, "GROUP_ROWS_MAX", 700)
    write_segment(path, TABLES, has_token_index=True)
    with SegmentFile(path) as segment:
        index = place_of(written.state(segment.stored))
    content, file = path.read_bytes(), pq.ParquetFile(path)

    assert index is not None
    assert file.num_row_groups == 6
    start = 0
    for number in range(file.num_row_groups):
        table = file.read_row_group(number, ["body"])
        for body in pc.unique(table["body"].drop_null()).to_pylist()[::20]:
            term = term_hash("body", str(body))
            offset = index.block_offset(block_of(term))
            block = read_block(content[offset : offset + index.block_bytes], block_of(term))
            assert block is not None
            assert len(block.spans) == file.num_row_groups
            assert IndexedSpan(number, start, start + len(table)) in block.spans_with(term)
        start += len(table)


def test_merges_of_many_rows_or_many_bytes_write_one(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    shelf = Shelf(open_store(StoreLocation.from_url(f"file://{tmp_path}/objects")), tmp_path)
    inputs = [shelf.put({"logs": TABLES["logs"]}), shelf.put({"traces": TABLES["traces"]})]

    asked = replace(order(), new_index=partial(index_builder, rows_min=3_500))
    few = shelf.merge(inputs[:1], asked).facts
    sized = [replace(item, size_bytes=64 * 1024 * 1024) for item in inputs[:1]]
    large = shelf.merge(sized, asked).facts
    many = shelf.merge(inputs, asked).facts

    assert place_of(few.content.written) is None
    assert place_of(large.content.written) is not None
    assert place_of(many.content.written) is not None
    merged = shelf.merged()
    assert Counter(plain(merged["logs"])) == Counter(plain(TABLES["logs"]))
