"""Files have no bounds in which a value is missing."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.parquet.bounded import bounded_names, has_bounds
from segments.parquet.spec import PromotedColumn, SegmentSpec
from tests.support.parquet.rows import rows_of, write_segment

RATIO = PromotedColumn("ratio", "real", "record", "ratio", 1_000)
FLOATING = ("value_double", "sum", "min", "max", "ratio")


@pytest.mark.parametrize("rows", [10, 5_000])
def test_floating_point_columns_have_no_bounds_in_which_nan_is_missing(
    tmp_path: Path, rows: int
) -> None:
    spec = SegmentSpec(("value_double", "ratio"), (RATIO,))
    path = tmp_path / "x.parquet"

    write_segment(path, {"metrics": rows_of("metrics", rows, spec)}, spec)

    metadata = pq.read_metadata(path)
    group = metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    for name in FLOATING:
        assert not columns[name].is_stats_set, name
        assert not columns[name].has_column_index, name
    assert columns["count"].has_column_index
    assert not has_bounds(metadata, FLOATING)
    assert has_bounds(metadata, ["count"])


def test_results_have_statistics_of_flat_columns_without_nan_alone() -> None:
    fields = {"a": pa.int64(), "b": pa.float32(), "c": pa.list_(pa.int64()), "d": pa.string()}
    schema = pa.schema([pa.field(name, type_) for name, type_ in fields.items()])

    assert bounded_names(schema) == ["a", "d"]
