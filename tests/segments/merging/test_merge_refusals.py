"""Inputs that a merge refuses, each by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from segments.errors import CorruptObject
from segments.location import StoreLocation
from segments.merging.kway_merge import merge_sorted
from segments.merging.merge import InputFailed
from segments.merging.runs import sorted_runs
from segments.parquet.footer import SegmentFooter
from segments.parquet.schema import sort_columns
from segments.parquet.sorting import sort_by
from segments.store.open import open_store
from tests.support.parquet.rows import DATASET, PLAIN, rows_of
from tests.support.parquet.shelf import Shelf, order


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return _shelf(tmp_path)


def test_a_source_that_is_not_sorted_is_found_out() -> None:
    table = rows_of("logs", 100)
    batches = table.combine_chunks().to_batches(max_chunksize=10)

    with pytest.raises(CorruptObject, match="not sorted by signal, service_name, timestamp"):
        list(merge_sorted([iter(batches)], sort_columns(PLAIN, "logs")))


def test_two_rows_out_of_order_within_a_batch_are_found_out() -> None:
    table = sort_by(rows_of("logs", 100), ("timestamp",))
    order = [*range(40), 41, 40, *range(42, 100)]
    batches = table.take(order).combine_chunks().to_batches()

    with pytest.raises(CorruptObject, match="not sorted by timestamp"):
        list(merge_sorted([iter(batches)], ("timestamp",)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 11}, "registered are"),
        ({"start_time": 0}, "registered are"),
        ({"key": f"dataset/{DATASET}/merged/nothing.parquet"}, "nothing"),
    ],
    ids=["rows", "time_bounds", "absent"],
)
def test_an_input_that_is_not_as_registered_is_named(
    shelf: Shelf, change: dict[str, object], message: str
) -> None:
    good, bad = (shelf.put({"logs": rows_of("logs", 10, seed=i)}) for i in range(2))

    with pytest.raises(InputFailed, match=message) as caught:
        shelf.merge([good, replace(bad, **change)], order())  # type: ignore[arg-type]

    assert caught.value.segment_id == bad.segment_id
    assert not (shelf.folder / "merged.parquet").exists()


def test_an_input_of_another_dataset_is_named(shelf: Shelf) -> None:
    bad = shelf.put({"logs": rows_of("logs", 10)}, PLAIN, SegmentFooter("other", "test"))

    with pytest.raises(InputFailed, match="belongs to dataset other"):
        shelf.merge([bad], order())


def test_a_corrupt_page_names_its_input(shelf: Shelf) -> None:
    good, bad = (shelf.put({"logs": rows_of("logs", 900, seed=i)}) for i in range(2))
    path = shelf.folder / "store" / bad.key
    broken = bytearray(path.read_bytes())
    broken[2_000] ^= 16
    path.chmod(0o600)
    path.write_bytes(broken)

    with pytest.raises(InputFailed) as caught:
        shelf.merge([good, bad], order())

    assert caught.value.segment_id == bad.segment_id


def test_a_damaged_scratch_file_is_found_out(tmp_path: Path) -> None:
    # Random bits do not compress: the file has them as they are, and no codec notices a change.
    random = Random(1)
    table = pa.table({"value": [random.getrandbits(63) for _ in range(4_096)]})
    (run,) = sorted_runs(iter(table.to_batches()), ("value",), tmp_path / "runs.parquet")
    broken = bytearray(run.path.read_bytes())
    broken[len(broken) // 2] ^= 1
    run.path.write_bytes(broken)

    with pytest.raises(OSError, match="CRC"):
        list(run.batches(1_000))


def _shelf(folder: Path) -> Shelf:
    (folder / "store").mkdir()
    return Shelf(open_store(StoreLocation.from_url(f"file://{folder}/store")), folder)
