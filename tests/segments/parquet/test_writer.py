"""Guarantees of the writer: exact rows, row groups, pages, statistics, footer."""

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.errors import CorruptObject, ObjectExists
from segments.location import StoreLocation
from segments.parquet import row_groups, sorting
from segments.parquet.reader import SegmentFile, read_footer, read_segment
from segments.parquet.schema import section_schema
from segments.parquet.sorting import sort_table
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.parquet.upload import upload_segment
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.rows import (
    DATASET,
    FOOTER,
    PLAIN,
    plain,
    plain_sections,
    rows_of,
    write_segment,
)

KEY = f"dataset/{DATASET}/merged/0198a7c0-0000-7000-8000-000000000002.parquet"


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "store").mkdir()
    return open_store(StoreLocation.from_url(f"file://{tmp_path}/store"))


def test_what_was_written_is_what_is_read(tmp_path: Path, store: ObjectStore) -> None:
    tables = {signal: rows_of(signal, 500) for signal in SIGNALS}

    ordered, facts = write_segment(tmp_path / "x.parquet", tables)
    upload_segment(store, KEY, tmp_path / "x.parquet", facts)

    found = read_segment(store, KEY)
    assert plain_sections(found) == plain_sections(ordered)
    assert {s: t.schema for s, t in found.items()} == {s: section_schema(s) for s in SIGNALS}


def test_the_footer_says_whose_the_segment_is_and_what_it_holds(
    tmp_path: Path, store: ObjectStore
) -> None:
    spec = SegmentSpec(("severity_text",), (PromotedColumn("user", "string", "record", "user.id"),))
    _, facts = write_segment(tmp_path / "x.parquet", {"logs": rows_of("logs", 99, spec)}, spec)
    upload_segment(store, KEY, tmp_path / "x.parquet", facts)

    stored = read_footer(store, KEY)

    assert stored.footer.batches == FOOTER.batches
    assert stored.footer.ranges == tuple(sorted(FOOTER.ranges))
    assert (stored.rows, stored.rows_by_signal) == (99, {"logs": 99})
    assert (stored.start_time, stored.end_time) == (facts.start_time, facts.end_time)
    assert stored.sort_order == ("signal", "severity_text", "service_name", "timestamp")
    assert stored.promoted == spec.promoted


def test_a_row_group_never_mixes_signals_and_ends_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "GROUP_ROWS_MAX", 200)
    path = tmp_path / "x.parquet"

    write_segment(path, {"logs": rows_of("logs", 450), "traces": rows_of("traces", 10)})

    with pq.ParquetFile(path) as file:
        signals = [file.read_row_group(i, ["signal"])["signal"].to_pylist() for i in range(4)]
    assert signals == [["logs"] * 200, ["logs"] * 200, ["logs"] * 50, ["traces"] * 10]


def test_large_rows_end_a_row_group_before_its_bytes_pass_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "GROUP_BYTES_MAX", 1_000_000)
    bodies = pa.array([random.Random(i).randbytes(10_000).hex() for i in range(400)])
    table = rows_of("logs", 400)
    table = table.set_column(table.schema.get_field_index("body"), "body", bodies)
    path = tmp_path / "x.parquet"

    _, facts = write_segment(path, {"logs": table})

    metadata = pq.read_metadata(path)
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    assert max(sizes) < 1_100_000
    assert len(sizes) < 24
    assert facts.rows == 400


def test_pages_of_long_text_are_about_64_kib(tmp_path: Path) -> None:
    bodies = pa.array([random.Random(i).randbytes(1_000).hex() for i in range(4_000)])
    table = rows_of("logs", 4_000)
    table = table.set_column(table.schema.get_field_index("body"), "body", bodies)
    path = tmp_path / "x.parquet"

    write_segment(path, {"logs": table})

    column = _column(path, "body")
    assert column.has_offset_index
    page_bytes = column.total_uncompressed_size / _pages(path, "body")
    assert 64 * 1024 <= page_bytes <= 2 * 64 * 1024


def test_statistics_are_kept_for_keys_ids_and_numbers_but_not_for_text(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"

    write_segment(path, {"traces": rows_of("traces", 100)})

    for name in ("signal", "service_name", "timestamp", "trace_id", "duration_ns", "status_code"):
        assert _column(path, name).is_stats_set, name
    texts = ("attributes", "events", "resource_attributes", "status_message")
    for name in (*texts, "span_id", "flags", "dropped_events_count"):
        assert not _column(path, name).is_stats_set, name
    assert _column(path, "trace_id").bloom_filter_length > 0  # type: ignore[attr-defined]


def test_a_promoted_guid_has_a_bloom_filter_and_a_string_has_none(tmp_path: Path) -> None:
    spec = SegmentSpec(
        (),
        (
            PromotedColumn("order_id", "guid", "record", "order.id", 1_000),
            PromotedColumn("user", "string", "record", "user.id", 1_002),
        ),
    )
    path = tmp_path / "x.parquet"

    write_segment(path, {"logs": rows_of("logs", 100, spec)}, spec)

    assert _column(path, "order_id").bloom_filter_length > 0  # type: ignore[attr-defined]
    assert _column(path, "user").bloom_filter_length is None  # type: ignore[attr-defined]
    query = "SELECT DISTINCT order_id FROM read_parquet(?) WHERE order_id = 'name-3'"
    assert duckdb.execute(query, [str(path)]).fetchall() == [("name-3",)]


def test_a_repeated_dictionary_value_is_stored_once(tmp_path: Path) -> None:
    table = rows_of("logs", 2)
    repeated = pa.DictionaryArray.from_arrays(
        pa.array([0, 3], pa.int32()), pa.array(["a", "unused", "b", "a"])
    )
    table = table.set_column(table.schema.get_field_index("service_name"), "service_name", repeated)
    path = tmp_path / "x.parquet"

    write_segment(path, {"logs": table})

    with SegmentFile(path) as segment:
        (batch,) = segment.batches("logs", 100)
    names = batch.column("service_name")
    assert isinstance(names, pa.DictionaryArray)
    assert names.dictionary.to_pylist() == ["a"]


def test_sections_out_of_order_and_foreign_columns_are_refused(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path / "x", ["logs", "traces"], PLAIN, FOOTER) as writer:
        writer.write("traces", rows_of("traces", 1))

        with pytest.raises(ValueError, match="out of order"):
            writer.write("logs", rows_of("logs", 1))
        with pytest.raises(ValueError, match="out of order"):
            writer.write("metrics", rows_of("metrics", 1))
        with pytest.raises(ValueError, match="not those of the format"):
            writer.write("traces", rows_of("traces", 1).drop_columns(["name"]))


def test_rows_of_another_signal_are_refused(tmp_path: Path) -> None:
    table = rows_of("logs", 1)
    table = table.set_column(0, table.schema.field(0), pa.array(["traces"]).dictionary_encode())

    with SegmentWriter(tmp_path / "x", ["logs"], PLAIN, FOOTER) as writer:
        writer.write("logs", table)

        with pytest.raises(ValueError, match="holds signal"):
            writer.close()


def test_an_empty_segment_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="without rows"),
        SegmentWriter(tmp_path / "x", ["logs"], PLAIN, FOOTER) as writer,
    ):
        writer.close()


def test_a_writer_that_was_not_closed_leaves_no_file(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path / "x", ["logs"], PLAIN, FOOTER) as writer:
        writer.write("logs", rows_of("logs", 1))

    assert list(tmp_path.iterdir()) == []


def test_an_error_is_not_hidden_by_a_file_that_is_gone(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "x", ["logs"], PLAIN, FOOTER)
    (tmp_path / "x").unlink()

    with pytest.raises(TimeoutError), writer:
        raise TimeoutError


def test_an_upload_whose_first_answer_was_lost_succeeds(tmp_path: Path, store: ObjectStore) -> None:
    path = tmp_path / "x.parquet"
    _, facts = write_segment(path, {"logs": rows_of("logs", 10)})
    store.put_file_if_absent(KEY, path)

    upload_segment(store, KEY, path, facts)


def test_an_upload_never_replaces_another_object(tmp_path: Path, store: ObjectStore) -> None:
    path = tmp_path / "x.parquet"
    _, facts = write_segment(path, {"logs": rows_of("logs", 10)})
    store.put_if_absent(KEY, b"someone else's")

    with pytest.raises(ObjectExists):
        upload_segment(store, KEY, path, facts)


def test_a_flipped_bit_in_the_pages_never_changes_a_row_unseen(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    ordered, _ = write_segment(path, {"logs": rows_of("logs", 2_000)})
    whole, rows = path.read_bytes(), plain(ordered["logs"])
    rng = random.Random(7)
    outcomes: list[str] = []
    for _ in range(100):
        broken = bytearray(whole)
        broken[rng.randrange(4, len(whole) - 8)] ^= 1 << rng.randrange(8)
        (tmp_path / "broken.parquet").write_bytes(broken)
        try:
            with SegmentFile(tmp_path / "broken.parquet") as segment:
                found = plain(pa.Table.from_batches(segment.batches("logs", 500)))
            outcomes.append("same" if found == rows else "other")
        except CorruptObject:
            outcomes.append("found")

    # Bits that no reader of rows looks at, as in statistics, may flip.
    assert "other" not in outcomes
    assert outcomes.count("found") > 70


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all", b"PAR1" * 100])
def test_what_is_not_a_parquet_file_is_corrupt(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)

    with pytest.raises(CorruptObject):
        SegmentFile(path)


def test_a_parquet_file_that_is_not_a_segment_is_corrupt(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")

    with pytest.raises(CorruptObject, match="footer"):
        SegmentFile(tmp_path / "x.parquet")


def test_a_string_column_keeps_its_nulls_last_when_sorted() -> None:
    table = rows_of("logs", 300)

    names = sort_table(table, PLAIN, "logs")["service_name"].to_pylist()

    found = [name for name in names if name is not None]
    assert found == sorted(found)
    assert names == found + [None] * (300 - len(found))


def test_more_text_than_32_bit_offsets_reach_is_sorted_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorting, "_TAKE_BYTES_MAX", 100)
    monkeypatch.setattr(sorting, "_PIECE_BYTES", 300)
    table = rows_of("logs", 100)

    found = sort_table(table, PLAIN, "logs")

    monkeypatch.undo()
    assert found["body"].num_chunks > 10
    assert plain(found) == plain(sort_table(table, PLAIN, "logs"))
    assert found.schema == table.schema


def _column(path: Path, name: str) -> pq.ColumnChunkMetaData:
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    return next(c for c in columns if c.path_in_schema == name)


def _pages(path: Path, name: str) -> int:
    """Count the pages of a column: each is one zstd frame, known by its magic number."""
    column = _column(path, name)
    start, size = column.data_page_offset, column.total_compressed_size
    return path.read_bytes()[start : start + size].count(bytes.fromhex("28b52ffd"))
