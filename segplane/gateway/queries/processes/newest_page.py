"""The newest rows of a query, by windows of time: from the newest files on, older ones if needed.

DuckDB gives no row before the end of a query. A window of the newest files alone is a query that
ends soon, and no older window has newer rows, so that its rows can be written at once. Before it
comes a part of the newest file, which holds the page of a search that finds many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from segplane.gateway.queries.processes.wire import MATCHED, ORDERED, NewestPage
from segplane.query.conditions import where
from segplane.query.engine import RunningQuery
from segplane.query.results.output import json_rows
from segplane.read.bounds import TimeBounds

if TYPE_CHECKING:
    from segplane.read.files.files import DatasetFile

# Rows of the newest file that are expected in the part that is read first.
PART_ROWS = 2_000
# Rows of the files of the first window, and how many times as many each further window reaches.
FIRST_ROWS, GROWTH = 200_000, 5
_MICRO_NANOS = 1_000
_TIME, _NANOS, _DIGEST = (f'"{name}"' for name in ORDERED)
# From a microsecond on, until before another; None = all older ones.
Window = tuple[int | None, int | None]


def write_newest_page(query: RunningQuery, page: NewestPage, out: IO[bytes]) -> None:
    """Write the rows of a page, a line of JSON each, as windows are read. Raises QueryError."""
    files = [file for source in query.sources for file in source.files]
    start = min((source.bounds.start or 0 for source in query.sources), default=0)
    remaining, skipped = page.rows, page.skipped
    if page.is_counted:
        matched = _count(query)
        out.write(b'{"matched": %d}\n' % matched)
        if not matched:
            return
    # Rows of this microsecond may be on the page before and on this one.
    shared, newest = page.before_micros, page.before_micros
    if newest is None:
        newest = _last_micros(query)
    # Arrow decodes whole row groups of the files that it reads for DuckDB.
    is_direct = not any(source.indirect for source in query.sources)
    if is_direct and (since := newest_part(files, newest)) is not None:
        part = since, None if newest is None else newest + 1
        query.read_within(_bounds(part))
        remaining -= _write(query, part, remaining, skipped, out)
        if remaining <= 0:
            return
        shared, newest, skipped = None, since - 1, 0
    for number, (since, until) in enumerate(windows(files, start // _MICRO_NANOS, newest)):
        query.read_within(_bounds((since, until)))
        if not number:
            oldest = _oldest(query, (since, until if shared is None else shared), remaining)
            since = shared if oldest is None else oldest
            if since is None:
                continue
        # In further windows few rows are expected: to find their times first is the greater part.
        remaining -= _write(query, (since, until), remaining, skipped, out)
        if remaining <= 0:
            return
        skipped = 0


def _last_micros(query: RunningQuery) -> int | None:
    """Return the last microsecond that the query asks for, None if it has no end."""
    ends = [source.bounds.end for source in query.sources]
    bounded = [end for end in ends if end is not None]
    return (max(bounded) - 1) // _MICRO_NANOS if bounded and len(bounded) == len(ends) else None


def newest_part(files: Sequence[DatasetFile], before_micros: int | None) -> int | None:
    """Return the time since when the newest file has about PART_ROWS; None if it has no more.

    Its rows are taken for evenly spread over its time.
    """
    until = None if before_micros is None else before_micros + 1
    older = [f for f in files if until is None or f.start_time // _MICRO_NANOS < until]
    newest = max(older, key=lambda file: file.start_time, default=None)
    if newest is None or newest.rows <= PART_ROWS:
        return None
    start, end = newest.start_time // _MICRO_NANOS, newest.end_time // _MICRO_NANOS
    length = (end - start) * PART_ROWS // newest.rows
    since = (end if before_micros is None else min(end, before_micros)) - length
    return since if length and since > start else None


def windows(
    files: Sequence[DatasetFile], start_micros: int, before_micros: int | None
) -> Iterator[Window]:
    """Yield windows of time, newest first; together they are all times from a start on."""
    rows, reached, until = 0, FIRST_ROWS, None if before_micros is None else before_micros + 1
    for file in sorted(files, key=lambda file: -file.start_time):
        since = file.start_time // _MICRO_NANOS
        if since <= start_micros:
            break
        if until is not None and since >= until:
            continue
        rows += file.rows
        if rows >= reached:
            yield since, until
            until, reached = since, rows * GROWTH
    yield None, until


def _count(query: RunningQuery) -> int:
    ((matched,),) = query.rows(
        f"WITH {MATCHED} AS ({query.plan.sql}) SELECT count(*) FROM {MATCHED}"  # noqa: S608
    )
    return int(str(matched))


def _oldest(query: RunningQuery, window: Window, rows: int) -> int | None:
    """Return the time of the last one of the newest rows of a window, None if it has none.

    It reads no column but those of the conditions, and times. Raises QueryError.
    """
    ((micros,),) = query.rows(
        f"WITH {MATCHED} AS ({query.plan.sql}) SELECT epoch_us(min({_TIME})) FROM"  # noqa: S608
        f" (SELECT {_TIME} FROM {MATCHED}{_within(window)} ORDER BY {_TIME} DESC LIMIT {rows})"
    )
    return None if micros is None else int(str(micros))


def _write(query: RunningQuery, window: Window, rows: int, skipped: int, out: IO[bytes]) -> int:
    reader, forms = query.result(
        f"WITH {MATCHED} AS ({query.plan.sql}) SELECT * FROM {MATCHED}{_within(window)}"  # noqa: S608
        f" ORDER BY {_TIME} DESC, {_NANOS} DESC, {_DIGEST} LIMIT {rows} OFFSET {skipped}"
    )
    names = [json.dumps(name, ensure_ascii=False) for name in reader.schema.names]
    written = 0
    for row in json_rows(reader, forms):
        members = ", ".join(f"{name}: {text}" for name, text in zip(names, row, strict=True))
        out.write(f"{{{members}}}\n".encode())
        written += 1
    out.flush()
    return written


def _bounds(window: Window) -> TimeBounds:
    start, end = (None if micros is None else micros * _MICRO_NANOS for micros in window)
    return TimeBounds().within(start, end)


def _within(window: Window) -> str:
    since, until = window
    conditions = [] if since is None else [f"{_TIME} >= make_timestamptz({since})"]
    conditions += [] if until is None else [f"{_TIME} < make_timestamptz({until})"]
    return where(conditions)
