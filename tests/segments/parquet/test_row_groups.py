"""Row groups: their bytes, where most of them are in a dictionary."""

import pyarrow as pa
import pytest

from segments.parquet import row_groups
from segments.parquet.row_groups import GroupBuffer

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
