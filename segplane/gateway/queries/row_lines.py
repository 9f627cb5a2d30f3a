"""A result as lines of JSON: its columns, then each row, for pages that show rows as they come."""

import io
import json
from typing import IO, TYPE_CHECKING, Literal

from segplane.query.engine import RunningQuery
from segplane.query.results.output import text_rows

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS_MAX = 100
CELL_CHARACTERS_MAX = 4_096
Kind = Literal["time", "number", "text"]


def write_row_lines(query: RunningQuery, out: IO[bytes]) -> None:
    """Run a query and write its result. Raises QueryError.

    The first line is the number of columns with a list of the first 100, each a name and a kind. A
    row is a list of texts as in CSV, cut after 4,096 characters and one more; null is null.
    """
    reader, forms = query.result()
    text = io.TextIOWrapper(out, "utf-8", newline="")
    columns = [(n, _kind(f)) for n, f in zip(reader.schema.names, forms, strict=True)]
    text.write(f"{json.dumps([len(columns), columns[:COLUMNS_MAX]])}\n")
    for row in text_rows(reader, forms):
        cells = [cell and cell[: CELL_CHARACTERS_MAX + 1] for cell in row[:COLUMNS_MAX]]
        text.write(f"{json.dumps(cells)}\n")
    text.flush()
    text.detach()


def _kind(form: "pa.DataType") -> Kind:
    import pyarrow as pa

    types = pa.types
    if types.is_timestamp(form) or types.is_date(form):
        return "time"
    if types.is_integer(form) or types.is_floating(form) or types.is_decimal(form):
        return "number"
    return "text"
