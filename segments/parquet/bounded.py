"""Columns whose values all lie within the bounds that Parquet has of them.

Parquet's bounds of floating-point numbers leave NaN out, and most engines take NaN as the greatest
number: they skip row groups and pages whose NaN a query asks for. Arrow's writer decides about
bounds before the first row of a file, when nobody knows whether there is a NaN.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq


def is_bounded(type_: pa.DataType) -> bool:
    """Return whether bounds of such values hold for each of them."""
    return not pa.types.is_floating(type_)


def bounded_names(schema: pa.Schema) -> list[str]:
    """Return the columns that files of a schema have statistics of; none is nested."""
    return [f.name for f in schema if is_bounded(f.type) and not pa.types.is_nested(f.type)]


def has_bounds(metadata: pq.FileMetaData, names: Collection[str]) -> bool:
    """Return whether a file has bounds of one of these columns in any row group.

    Files of release 0.2.0 and before have them of floating-point columns too.
    """
    places = [n for n in range(metadata.num_columns) if metadata.schema.column(n).path in names]
    return any(
        (statistics := metadata.row_group(group).column(index).statistics) is not None
        and statistics.has_min_max
        for group in range(metadata.num_row_groups)
        for index in places
    )
