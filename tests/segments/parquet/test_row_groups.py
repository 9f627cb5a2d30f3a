"""Row groups: their bytes, where most of them are in a dictionary."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.parquet import row_groups
from segments.parquet.row_groups import GroupBuffer
from segments.parquet.schema import section_schema
from segments.parquet.spec import PromotedColumn, SegmentSpec
from tests.support.parquet.rows import rows_of, write_segment

KIB = 1024
VALUES = 4_096


def test_a_dictionary_larger_than_a_row_group_is_cut_with_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_groups, "GROUP_BYTES_MAX", 1024 * KIB)
    values = pa.array([f"{number:05}" + "x" * KIB for number in range(VALUES)])
    indices = pa.array(range(VALUES), pa.int32())
    batch = pa.record_batch([pa.DictionaryArray.from_arrays(indices, values)], ["a"])
    buffer = GroupBuffer()

    found = [*buffer.push(batch), *buffer.flush()]

    assert pa.concat_tables(found)["a"].cast(pa.string()).to_pylist() == values.to_pylist()
    assert max(group.nbytes for group in found) <= 1024 * KIB
    assert len(found) <= 8


def test_a_typed_text_is_stored_without_values_that_no_row_has(tmp_path: Path) -> None:
    spec = SegmentSpec(promoted=(PromotedColumn("plan", "string", "record", "plan", 5_000),))
    rows = rows_of("logs", 4)
    values = pa.array(["free", *(f"unused {number}" for number in range(10_000)), "free"])
    codes = pa.array([0, 10_001, None, 0], pa.int32())
    plans: Any = pa.DictionaryArray.from_arrays(codes, values)
    table = pa.table([*rows.columns, plans], schema=section_schema("logs", spec.promoted))

    write_segment(tmp_path / "x.parquet", {"logs": table}, spec)

    stored = pq.ParquetFile(tmp_path / "x.parquet")
    place = stored.schema_arrow.get_field_index("plan")
    assert stored.metadata.row_group(0).column(place).total_uncompressed_size < 1_000
    plan = stored.read(["plan"])["plan"].to_pylist()
    assert sorted(map(str, plan)) == ["None", "free", "free", "free"]
