"""Small segments made together hold what a writer of one segment would have written."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.errors import CorruptObject, ObjectExists
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet import small_writer
from segments.parquet.reader import SegmentFile, read_footer, read_segment
from segments.parquet.small_writer import (
    TINY_ROWS_MAX,
    NotSmall,
    SmallSection,
    SmallSegment,
    small_format,
)
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.parquet.upload import upload_segment, upload_small_segment
from segments.signals import SIGNALS, Signal
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.rows import (
    DATASET,
    FOOTER,
    PLAIN,
    concat,
    plain,
    plain_sections,
    rows_of,
    write_segment,
)

KEY = f"dataset/{DATASET}/merged/0198a7c0-0000-7000-8000-000000000002.parquet"
OTHER_KEY = f"dataset/{DATASET}/merged/0198a7c0-0000-7000-8000-000000000003.parquet"
SHARDED = SegmentSpec(
    ("severity_text", "user"), (PromotedColumn("user", "string", "record", "user.id"),)
)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "store").mkdir()
    return open_store(StoreLocation.from_url(f"file://{tmp_path}/store"))


def made(
    owners: Sequence[Mapping[Signal, pa.Table]], spec: SegmentSpec = PLAIN
) -> list[SmallSegment]:
    """Make small segments of owners that have the same signals, their rows mixed."""
    signals = tuple(signal for signal in SIGNALS if signal in owners[0])
    format_ = small_format(signals, spec)
    sections: list[dict[Signal, SmallSection]] = [{} for _ in owners]
    for signal in signals:
        table = concat(own[signal] for own in owners)
        numbers = [i for i, own in enumerate(owners) for _ in range(own[signal].num_rows)]
        mixed = list(range(len(numbers)))
        random.Random(1).shuffle(mixed)
        places = pa.array(mixed, pa.int32())
        for owner, section in format_.sections(
            signal, table.take(places), pa.array(numbers, pa.int32()).take(places)
        ):
            sections[owner][signal] = section
    return [format_.write(one, FOOTER) for one in sections]


@pytest.mark.parametrize("spec", [PLAIN, SHARDED], ids=["plain", "sharded"])
@pytest.mark.parametrize("signals", [SIGNALS, ("metrics",), ("logs", "traces")], ids="-".join)
def test_a_small_segment_reads_like_one_of_the_large_ones_writer(
    tmp_path: Path, store: ObjectStore, signals: tuple[Signal, ...], spec: SegmentSpec
) -> None:
    owners = [{s: rows_of(s, 50 + i, spec, seed=i) for s in signals} for i in range(3)]
    path = tmp_path / "x.parquet"
    ordered, facts = write_segment(path, owners[1], spec)
    upload_segment(store, OTHER_KEY, path, facts)

    segment = made(owners, spec)[1]
    upload_small_segment(store, KEY, segment)

    found = read_segment(store, KEY)
    assert plain_sections(found) == plain_sections(ordered)
    assert {s: t.schema for s, t in found.items()} == {s: t.schema for s, t in ordered.items()}
    assert read_footer(store, KEY) == read_footer(store, OTHER_KEY)
    same = replace(
        facts,
        crc32c=segment.facts.crc32c,
        size_bytes=segment.facts.size_bytes,
        compressed_size_bytes=len(segment.body),
    )
    assert segment.facts == same


def test_a_small_file_has_one_row_group_and_no_page_index() -> None:
    (segment,) = made([{signal: rows_of(signal, 100) for signal in SIGNALS}])

    metadata = pq.read_metadata(pa.BufferReader(segment.body))

    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [300]
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    assert not any(column.has_offset_index for column in columns)
    with_statistics = {c.path_in_schema for c in columns if c.is_stats_set}
    assert {"signal", "service_name", "timestamp", "trace_id"} <= with_statistics
    assert not {"value_double", "sum", "min", "max"} & with_statistics
    (trace_id,) = (c for c in columns if c.path_in_schema == "trace_id")
    assert trace_id.bloom_filter_length > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("batch_rows", [1, 7, 1_000])
def test_sections_of_one_row_group_are_read_apart(tmp_path: Path, batch_rows: int) -> None:
    sections = {signal: rows_of(signal, 10 + i) for i, signal in enumerate(SIGNALS)}
    (segment,) = made([sections])
    path = tmp_path / "x.parquet"
    path.write_bytes(segment.body)

    with SegmentFile(path) as file:
        found = {s: plain(pa.Table.from_batches(file.batches(s, batch_rows))) for s in file.signals}
        sizes = [file.section_bytes(signal) for signal in SIGNALS]

    assert {s: sorted(rows) for s, rows in found.items()} == {
        s: sorted(plain(table)) for s, table in sections.items()
    }
    assert 0 < sum(sizes) <= segment.facts.size_bytes


def test_rows_that_a_footer_gives_to_another_signal_are_found(tmp_path: Path) -> None:
    (segment,) = made([{signal: rows_of(signal, 50) for signal in SIGNALS}])
    path = tmp_path / "x.parquet"
    wrong = segment.body.replace(b'"logs":50,"metrics":50', b'"logs":51,"metrics":49')
    assert wrong != segment.body
    path.write_bytes(wrong)

    with SegmentFile(path) as file, pytest.raises(CorruptObject, match="not logs"):
        list(file.batches("logs", 1_000))


def test_a_footer_that_counts_other_rows_than_the_row_group_is_refused(tmp_path: Path) -> None:
    (segment,) = made([{signal: rows_of(signal, 50) for signal in SIGNALS}])
    path = tmp_path / "x.parquet"
    path.write_bytes(segment.body.replace(b'"logs":50,"metrics":50', b'"logs":51,"metrics":50'))

    with pytest.raises(CorruptObject, match="do not hold the rows"):
        SegmentFile(path)


@pytest.mark.parametrize(
    ("rows", "codec"),
    [(TINY_ROWS_MAX, "UNCOMPRESSED"), (TINY_ROWS_MAX + 1, "ZSTD")],
    ids=["tiny", "small"],
)
def test_numbers_of_a_tiny_file_are_not_compressed(rows: int, codec: str) -> None:
    table = rows_of("logs", rows)

    (segment,) = made([{"logs": table}])

    group = pq.read_metadata(pa.BufferReader(segment.body)).row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    codecs = {column.path_in_schema: column.compression for column in columns}
    assert codecs["timestamp"] == codec
    assert codecs["body"] == "ZSTD", "text is compressed in both"
    assert pq.read_table(pa.BufferReader(segment.body)).num_rows == rows


def test_small_and_large_segments_merge(tmp_path: Path, store: ObjectStore) -> None:
    first, second = rows_of("logs", 80, seed=1), rows_of("logs", 90, seed=2)
    (segment,) = made([{"logs": first}])
    upload_small_segment(store, KEY, segment)
    _, facts = write_segment(tmp_path / "x.parquet", {"logs": second})
    upload_segment(store, OTHER_KEY, tmp_path / "x.parquet", facts)
    inputs = [
        MergeInput(key, key, f.rows, f.start_time, f.end_time)
        for key, f in ((KEY, segment.facts), (OTHER_KEY, facts))
    ]

    merge_segments(store, inputs, MergeOrder(DATASET, "test", PLAIN), tmp_path)

    with SegmentFile(tmp_path / "merged.parquet") as merged:
        found = plain(pa.Table.from_batches(merged.batches("logs", 500)))
    assert sorted(found) == sorted(plain(first) + plain(second))


def test_a_flipped_bit_in_a_small_segment_never_changes_a_row_unseen(tmp_path: Path) -> None:
    table = rows_of("logs", 300)
    (segment,) = made([{"logs": table}])
    path = tmp_path / "x.parquet"
    path.write_bytes(segment.body)
    with SegmentFile(path) as whole:
        rows = plain(pa.Table.from_batches(whole.batches("logs", 500)))
    rng = random.Random(7)
    outcomes: list[str] = []
    for _ in range(100):
        broken = bytearray(segment.body)
        broken[rng.randrange(4, len(broken) - 8)] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        try:
            with SegmentFile(path) as damaged:
                found = plain(pa.Table.from_batches(damaged.batches("logs", 500)))
            outcomes.append("same" if found == rows else "other")
        except CorruptObject:
            outcomes.append("found")

    assert "other" not in outcomes
    assert outcomes.count("found") > 70


def test_dictionaries_that_are_too_much_text_are_not_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_writer, "TEXT_BYTES_MAX", 1_000)

    with pytest.raises(NotSmall):
        made([{"logs": rows_of("logs", 500)}])


def test_rows_of_another_signal_are_refused() -> None:
    table = rows_of("logs", 2)
    mixed = pa.array(["logs", "traces"]).dictionary_encode()
    table = table.set_column(0, table.schema.field(0), mixed)

    with pytest.raises(ValueError, match="another signal"):
        made([{"logs": table}])


def test_a_small_upload_whose_first_answer_was_lost_succeeds(store: ObjectStore) -> None:
    (segment,) = made([{"logs": rows_of("logs", 10)}])
    store.put_if_absent(KEY, segment.body)

    upload_small_segment(store, KEY, segment)


def test_a_small_upload_never_replaces_another_object(store: ObjectStore) -> None:
    (segment,) = made([{"logs": rows_of("logs", 10)}])
    store.put_if_absent(KEY, b"someone else's")

    with pytest.raises(ObjectExists):
        upload_small_segment(store, KEY, segment)


@dataclass(frozen=True)
class AlteringStore(FolderStore):
    """A folder that adds a number to one byte of a page and cuts some off the end."""

    added: int = 0
    cut: int = 0

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        (body,) = pieces
        kept = bytearray(body[: len(body) - self.cut])
        kept[100] = (kept[100] + self.added) % 256
        FolderStore(self.location).put_if_absent(key, bytes(kept))


@pytest.mark.parametrize(("added", "cut"), [(0, 1), (1, 0), (-1, 0)], ids=["cut", "more", "less"])
def test_a_small_upload_of_which_other_bytes_were_kept_is_never_reported(
    store: ObjectStore, added: int, cut: int
) -> None:
    """The footer is still what its writer counted, unless it was cut."""
    (segment,) = made([{"logs": rows_of("logs", 10)}])
    assert 0 < segment.body[100] < 255

    with pytest.raises(CorruptObject):
        upload_small_segment(AlteringStore(store.location, added, cut), KEY, segment)


def test_a_small_segment_whose_footer_says_something_else_is_never_reported(
    store: ObjectStore,
) -> None:
    (segment,) = made([{"logs": rows_of("logs", 10)}])
    wrong = replace(segment.facts, start_time=segment.facts.start_time - 1)

    with pytest.raises(CorruptObject, match="its writer counted"):
        upload_small_segment(store, KEY, replace(segment, facts=wrong))
