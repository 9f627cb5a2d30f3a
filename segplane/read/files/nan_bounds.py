"""Files whose bounds of floating-point columns leave NaN out, as release 0.2.0 wrote them.

Arrow skips row groups by these bounds. So filters of such columns are not handed down to these
files: their rows are filtered in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from segments.parquet.bounded import has_bounds, is_bounded

_THREADS = 8


Fragments = list[ds.Fragment]


def divided(
    fragments: Iterable[ds.Fragment], names: Collection[str]
) -> tuple[Fragments, Fragments]:
    """Divide files: those without bounds of the columns `names`, and those with them.

    A filter of the columns may be handed down to the first alone. Reads footers, which Arrow keeps
    for the scan. Raises OSError, ArrowException.
    """
    every = list(fragments)
    if not names or not every:
        return every, []
    with ThreadPoolExecutor(min(_THREADS, len(every))) as threads:
        flags = list(threads.map(lambda fragment: has_bounds(fragment.metadata, names), every))
    pairs = list(zip(every, flags, strict=True))
    return [f for f, flag in pairs if not flag], [f for f, flag in pairs if flag]


def floating_in(expression: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """Return the floating-point columns that a filter may read, perhaps too many."""
    floating = [field.name for field in schema if not is_bounded(field.type)]
    return [name for name in columns_in(expression, schema) if name in floating]


def columns_in(expression: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """Return the columns that a filter may read: those whose names are in its text."""
    text = "" if expression is None else str(expression)
    # Columns by number have no name in it.
    return [name for name in schema.names if name in text or "FieldPath(" in text]
