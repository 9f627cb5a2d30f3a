"""Finds the rows of a batch that violate the schema, if its typed columns have met a misfit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from segments.parquet.columns.promoted import SOURCES, members
from segments.parquet.spec import PromotedColumn
from segments.typed.conformity import misfit


def misfit_rows(
    batch: pa.RecordBatch, columns: Mapping[PromotedColumn, pa.Array[Any]]
) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield rows with a value that does not fit, ascending, each with its columns and reasons.

    The batch has the attribute columns of the format; `columns` are typed columns of it, which are
    null if a value does not fit.
    """
    nulls = [values.is_null().to_pylist() for values in columns.values()]
    texts: dict[str, list[str | None]] = {
        scope: batch.column(SOURCES[scope]).to_pylist()
        for scope in {column.scope for column in columns}
    }
    # Resources and scopes are the same for many rows.
    reasons_of = cache(_reasons)
    for row in range(batch.num_rows):
        reasons: list[tuple[str, str]] = []
        for column, are_null in zip(columns, nulls, strict=True):
            if are_null[row]:
                reasons += reasons_of(texts[column.scope][row], column)
        if reasons:
            yield row, reasons


def _reasons(text: str | None, column: PromotedColumn) -> Collection[tuple[str, str]]:
    if text is None:
        return ()
    reason = misfit(members(text).get(column.attribute), column.kql_type)
    return ((column.name, reason),) if reason else ()
