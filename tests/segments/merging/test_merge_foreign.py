"""Merging files that another release wrote, or that are not what their footer says."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import InputFailed, MergeOrder, merge_segments
from segments.parquet.footer import FORMAT_VERSION_MAX, SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import SegmentSpec
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.rows import DATASET, FOOTER, PLAIN, plain, rows_of, write_segment

TIMES = '{"logs":[0,0],"traces":[0,0]}'
FORMAT_1 = replace(FOOTER, format_version=1)
ORDER = MergeOrder(DATASET, "merge_worker test", PLAIN)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "store").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "store").as_uri()))


def put(
    store: ObjectStore,
    folder: Path,
    table: pa.Table,
    metadata: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    footer: SegmentFooter = FOOTER,
) -> MergeInput:
    """Write a segment of logs; `metadata` and `without` make it what our writer would not."""
    key = new_merged_key(DATASET)
    path = folder / key.rpartition("/")[2]
    _, facts = write_segment(path, {"logs": table}, footer=footer)
    if metadata or without:
        forge(path, metadata or {}, without)
    store.put_file_if_absent(key, path)
    return MergeInput(key[-20:], key, facts.rows, facts.start_time, facts.end_time)


def forge(path: Path, metadata: Mapping[str, str], without: tuple[str, ...]) -> None:
    """Write a file again with other footer metadata and fewer columns."""
    said = {k.decode(): v.decode() for k, v in (pq.read_metadata(path).metadata or {}).items()}
    said |= {f"segplane.{name}": text for name, text in metadata.items()}
    table = pq.read_table(path)
    kept = table.select([name for name in table.schema.names if name not in without])
    path.unlink()
    with pq.ParquetWriter(
        path, kept.schema, store_schema=False, write_page_checksum=True
    ) as writer:
        writer.write_table(kept)
        writer.add_key_value_metadata(said)


def merged_rows(folder: Path) -> pa.Table:
    with SegmentFile(folder / "merged.parquet") as segment:
        return pa.Table.from_batches(segment.batches("logs", 1_000))


def test_a_file_of_an_earlier_format_lacks_columns_which_become_null(
    store: ObjectStore, tmp_path: Path
) -> None:
    missing = ("event_name", "flags")
    now, earlier = rows_of("logs", 40, seed=1), rows_of("logs", 60, seed=2)
    inputs = [
        put(store, tmp_path, now),
        put(store, tmp_path, earlier, {}, missing, FORMAT_1),
    ]

    result = merge_segments(store, inputs, ORDER, tmp_path)

    blank = earlier
    for name in missing:
        index = blank.schema.get_field_index(name)
        nulls = pa.nulls(blank.num_rows, blank.schema.field(name).type)
        blank = blank.set_column(index, blank.schema.field(name), nulls)
    assert result.facts.rows == 100
    assert Counter(plain(merged_rows(tmp_path))) == Counter(plain(now)) + Counter(plain(blank))


def test_an_earlier_file_in_another_order_is_sorted_and_filled(
    store: ObjectStore, tmp_path: Path
) -> None:
    another = {"sort_order": '["signal","timestamp"]'}
    table = rows_of("logs", 60, seed=2)
    item = put(store, tmp_path, table, another, ("event_name",), FORMAT_1)
    spec = SegmentSpec(("severity_text",))

    result = merge_segments(store, [item], replace(ORDER, spec=spec), tmp_path)

    found = merged_rows(tmp_path)
    texts = found["severity_text"].to_pylist()
    assert result.facts.rows == 60
    assert texts == sorted(texts, key=lambda text: (text is None, text))
    assert found["event_name"].null_count == 60


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"format_version": str(FORMAT_VERSION_MAX + 1)}, "format version"),
        ({"rows": '{"logs":41}'}, "row groups of logs"),
        ({"rows": '{"logs":39}'}, "row groups of logs"),
        ({"rows": '{"logs":40,"traces":1}'}, "traces"),
        ({"rows": '{"logs":40,"traces":1}', "signal_times": TIMES}, "missing"),
        ({"dataset_id": '"another"'}, "another"),
        ({"sort_order": '["signal","service_name","flags","timestamp"]'}, ""),
        ({"lineage": '"nothing"'}, "footer"),
    ],
    ids=[
        "newer",
        "more rows",
        "fewer rows",
        "a signal",
        "a signal with times",
        "dataset",
        "order",
        "lineage",
    ],
)
def test_a_file_that_is_not_what_its_footer_says_is_named_or_read_right(
    store: ObjectStore, tmp_path: Path, metadata: Mapping[str, str], message: str
) -> None:
    table = rows_of("logs", 40, seed=1)
    good, bad = put(store, tmp_path, table), put(store, tmp_path, table, metadata)

    if not message:
        # An order that is not today's does not matter: the file is sorted anew.
        assert merge_segments(store, [good, bad], ORDER, tmp_path).facts.rows == 80
        return
    with pytest.raises(InputFailed, match=message) as caught:
        merge_segments(store, [good, bad], ORDER, tmp_path)

    assert caught.value.segment_id == bad.segment_id
    assert not (tmp_path / "merged.parquet").exists()


@pytest.mark.parametrize("shift", [-1, 1], ids=["rows reach less far", "rows reach farther"])
def test_a_file_whose_rows_have_another_hull_is_named(
    store: ObjectStore, tmp_path: Path, shift: int
) -> None:
    good = put(store, tmp_path, rows_of("logs", 10, seed=1))
    table = rows_of("logs", 40, seed=2)
    low = pa.compute.min(table["timestamp"].cast(pa.int64())).as_py()
    said = low + shift
    bad = replace(put(store, tmp_path, table, {"start_time": str(said)}), start_time=said)

    with pytest.raises(InputFailed, match=r"times|lie in") as caught:
        merge_segments(store, [good, bad], ORDER, tmp_path)

    assert caught.value.segment_id == bad.segment_id
    assert not (tmp_path / "merged.parquet").exists()


def test_a_file_out_of_the_order_that_it_claims_is_named(
    store: ObjectStore, tmp_path: Path
) -> None:
    spec = SegmentSpec(("severity_text",))
    key = new_merged_key(DATASET)
    path = tmp_path / "other.parquet"
    _, facts = write_segment(path, {"logs": rows_of("logs", 4_000)}, spec)
    forge(path, {"sort_order": '["signal","service_name","timestamp"]'}, ())
    store.put_file_if_absent(key, path)
    item = MergeInput("bad", key, facts.rows, facts.start_time, facts.end_time)

    good = put(store, tmp_path, rows_of("logs", 10, seed=1))

    with pytest.raises(InputFailed, match="not sorted") as caught:
        merge_segments(store, [good, item], replace(ORDER, memory_bytes=1), tmp_path)

    assert caught.value.segment_id == "bad"
    assert not (tmp_path / "merged.parquet").exists()
