"""Small Parquet files that become large when they are read: bounded memory, and a clear refusal."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.foreign import expanded
from segments.foreign.file import COMPRESSION_MAX, ForeignFile
from segments.foreign.mapping import NotMappable
from segments.foreign.origin import RegisteredFile
from tests.support.examples import examples

MIB = 1024 * 1024
ROWS = 600
# 600 MB of texts, which Python and JSON hold some times over, are read in pieces of 8 MiB.
GROWTH_BYTES_MAX = 300 * MIB
# Reads a file as a janitor does; prints what became of it, and the growth of its memory.
READER = """
import resource, sys
from pathlib import Path
from segments.errors import CorruptObject
from segments.foreign.file import ForeignFile
from segments.foreign.origin import RegisteredFile
own_id = "01a2144a-22dd-76f1-9c03-003543a94ea7"
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
try:
    registered = RegisteredFile(own_id, own_id, int(sys.argv[2]), 0, 10**18)
    with ForeignFile(Path(sys.argv[1]), registered) as rows:
        rows.check_rows()
    print("mapped")
except CorruptObject as error:
    print(error)
print(peak() - before)
"""


def read(path: Path, rows: int = ROWS) -> tuple[str, int]:
    command = [sys.executable, "-c", READER, str(path), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    outcome, growth = done.stdout.splitlines()
    return outcome, int(growth)


def written(path: Path, columns: dict[str, Any], rows: int = ROWS, **how: Any) -> Path:
    table = pa.table({"timestamp": pa.array(range(rows), pa.timestamp("us")), **columns})
    pq.write_table(table, path, store_schema=False, **how)
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    "is_nested",
    [
        pytest.param(False, id="text"),
        pytest.param(True, id="list", marks=pytest.mark.slow),
    ],
)
def test_a_text_that_is_named_by_every_row_is_written_out_piece_by_piece(
    tmp_path: Path, is_nested: bool
) -> None:
    indices = pa.array([0] * ROWS, pa.int32())
    column: Any = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * MIB]))
    if is_nested:
        column = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), column)
    path = written(
        tmp_path / "bomb.parquet", {"payload": column}, dictionary_pagesize_limit=4 * MIB
    )
    assert path.stat().st_size < MIB

    outcome, growth = read(path)

    assert outcome == "mapped"
    assert growth < GROWTH_BYTES_MAX


@pytest.mark.long
def test_a_page_that_is_packed_to_nothing_is_refused_by_its_footer(tmp_path: Path) -> None:
    texts = pa.array(["x" * 400_000] * ROWS)
    how: dict[str, Any] = {"use_dictionary": False, "compression": "zstd"}
    how["data_page_size"] = 1024 * MIB
    path = written(tmp_path / "bomb.parquet", {"payload": texts}, **how)
    assert path.stat().st_size < MIB

    outcome, growth = read(path)

    assert outcome.startswith("column payload has 24000")
    assert "at most 1000 times as many" in outcome
    assert growth < GROWTH_BYTES_MAX


def test_a_column_of_a_few_megabytes_is_read_however_small_it_is_packed(tmp_path: Path) -> None:
    rows = 300_000
    how: dict[str, Any] = {"use_dictionary": False, "compression": "zstd"}
    zeros = pa.array([0] * rows, pa.int64())
    path = written(tmp_path / "zeros.parquet", {"zeros": zeros}, rows, **how)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    assert chunk.total_uncompressed_size > COMPRESSION_MAX * chunk.total_compressed_size

    with ForeignFile(path, RegisteredFile("segment", "dataset", rows, 0, 10**18)) as file:
        assert file.stored.rows == rows


def test_a_row_that_is_too_large_is_refused(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["xy" * MIB]))
    columns = {f"c{n}": texts for n in range(40)}
    outcome, _ = read(written(tmp_path / "bomb.parquet", columns, 1), 1)
    assert outcome.startswith("a row has 8")
    assert "at most 67108864 are read" in outcome


TEXTS = st.none() | st.text(max_size=5)
TYPES = {
    "text": (pa.string(), TEXTS),
    "bytes": (pa.binary(), st.none() | st.binary(max_size=5)),
    "list": (pa.list_(pa.string()), st.none() | st.lists(TEXTS, max_size=3)),
    "pair": (pa.list_(pa.string(), 2), st.none() | st.lists(TEXTS, min_size=2, max_size=2)),
    "object": (
        pa.struct([("a", pa.string()), ("b", pa.list_(pa.string()))]),
        st.none() | st.fixed_dictionaries({"a": TEXTS, "b": st.none() | st.lists(TEXTS)}),
    ),
    "map": (
        pa.map_(pa.string(), pa.list_(pa.string())),
        st.none() | st.lists(st.tuples(st.text(max_size=3), st.lists(TEXTS, max_size=2))),
    ),
    "number": (pa.int64(), st.none() | st.integers(-9, 9)),
}


@given(data=st.data(), rows=st.integers(1, 12), is_dictionary=st.booleans())
@settings(deadline=None, max_examples=examples(60))
def test_pieces_are_the_rows_as_they_were_written(
    data: st.DataObject, rows: int, is_dictionary: bool
) -> None:
    columns = {
        name: pa.array(data.draw(st.lists(values, min_size=rows, max_size=rows)), type_)
        for name, (type_, values) in TYPES.items()
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, use_dictionary=is_dictionary, store_schema=False)
    plain = pq.ParquetFile(buffer)
    paths = expanded.text_paths(plain.metadata)
    read_rows: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expanded, "PIECE_BYTES_MAX", data.draw(st.integers(0, 200)))
        for batch in pq.ParquetFile(buffer, read_dictionary=paths).iter_batches():
            for piece in expanded.pieces(batch, plain.schema_arrow):
                assert piece.schema == plain.schema_arrow
                read_rows += piece.to_pylist()
    assert read_rows == plain.read().to_pylist()


def test_a_row_may_be_as_large_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.record_batch({"a": pa.array(["x" * 100])})
    (size_bytes,) = map(expanded._bytes, batch.columns)
    monkeypatch.setattr(expanded, "PIECE_BYTES_MAX", 10)
    monkeypatch.setattr(expanded, "ROW_BYTES_MAX", size_bytes)
    assert list(expanded.pieces(batch, batch.schema)) == [batch]
    monkeypatch.setattr(expanded, "ROW_BYTES_MAX", size_bytes - 1)
    with pytest.raises(NotMappable):
        list(expanded.pieces(batch, batch.schema))
