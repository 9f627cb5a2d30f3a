"""DuckDB's types of a dataset's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segplane.query.quoting import quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from segplane.read.rows.columns import ReadColumns

# DuckDB's names of Arrow's types, once they were asked for.
_TYPE_NAMES: dict[pa.DataType, str] = {}


def duckdb_types(connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> dict[str, str]:
    """Return DuckDB's names of the types of columns."""
    import pyarrow as pa

    if unnamed := set(schema.types) - _TYPE_NAMES.keys():
        # Naming one takes as long as many, longer than all else that opens a table.
        fields = [pa.field(str(number), type_) for number, type_ in enumerate(unnamed)]
        relation = connection.from_arrow(pa.schema(fields).empty_table())
        _TYPE_NAMES.update(zip(unnamed, map(str, relation.types), strict=True))
    return {field.name: _TYPE_NAMES[field.type] for field in schema}


def no_rows(connection: duckdb.DuckDBPyConnection, columns: ReadColumns) -> str:
    """Return SQL that has the columns and no row."""
    types = duckdb_types(connection, columns.all)
    nulls = (f"CAST(NULL AS {types[name]}) AS {quoted(name)}" for name in columns.names)
    return f"SELECT {', '.join(nulls)} WHERE false"
