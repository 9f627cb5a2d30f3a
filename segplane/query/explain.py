"""Explanation of a query: SQL, files, row groups, bytes, and why no less is read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from kql.pushdown.bounds import ANY
from segplane.query.engine import RunningQuery
from segplane.query.quoting import literal
from segplane.query.sources import DatasetSource
from segplane.terminal.plain_text import size_text

_GROUPS = """
SELECT count(*), count(*) FILTER (kept), sum(bytes), sum(bytes) FILTER (kept) FROM (
    SELECT row_group_id, any_value(row_group_compressed_bytes) AS bytes,
        coalesce(bool_and(CASE WHEN path_in_schema = 'timestamp' AND stats_max_value IS NOT NULL
            THEN stats_max_value::TIMESTAMPTZ >= {low} AND stats_min_value::TIMESTAMPTZ <= {high}
            END), true) AS kept
    FROM parquet_metadata([{paths}]) GROUP BY file_name, row_group_id)
"""
_FILES_SHOWN = 10


def explanation(query: RunningQuery, *, has_keys: bool = False) -> Iterator[str]:
    """Yield lines about a query whose tables are open; only footers are read. Raises QueryError.

    With `has_keys`, files are named by their keys in the store, for people on other machines.
    """
    yield "SQL (DuckDB):"
    yield from (f"  {line}" for line in query.plan.sql.splitlines())
    for name, sql in query.plan.views.items():
        yield f"view {name}:"
        yield f"  {sql}"
    for source in query.sources:
        yield from _of_source(query, source, has_keys)


def _of_source(query: RunningQuery, source: DatasetSource, has_keys: bool) -> Iterator[str]:
    files = source.files
    size = size_text(sum(file.size_bytes for file in files))
    rows = sum(file.rows for file in files)
    yield f"dataset {source.read.name} at version {source.version}:"
    yield f"  columns     {', '.join(source.read.columns)}"
    yield f"  times       {_times(source)}"
    yield f"  files       {len(files):,} with {rows:,} rows, {size}"
    yield from (
        f"              {file.key if has_keys else file.url}" for file in files[:_FILES_SHOWN]
    )
    if len(files) > _FILES_SHOWN:
        yield f"              ... and {len(files) - _FILES_SHOWN:,} more"
    if source.num_left_out:
        yield f"  skipped    {source.num_left_out:,} files without the terms, by their token index"
    if spans := sum(file.num_spans_left_out for file in files):
        yield f"  skipped    {spans:,} spans of rows of these files, by their token index"
    if source.fresh is not None:
        passed = source.fresh.passed
        number, noun = len(source.fresh.babies), "baby segments"
        if passed is not None:
            number, noun = len(passed), "payloads of a gateway"
        yield f"  fresh       {number:,} {noun} with {source.fresh.rows:,} rows at most"
    if source.direct:
        yield f"  row groups  {_groups(query, source)}"
    yield from (f"  not pruned  {reason}" for reason in _reasons(source))


def _groups(query: RunningQuery, source: DatasetSource) -> str:
    start, end = source.bounds.start, source.bounds.end
    low = None if start is None else f"make_timestamptz({start // 1_000})"
    high = None if end is None else f"make_timestamptz({(end - 1) // 1_000})"
    statement = _GROUPS.format(
        low=low or "TIMESTAMPTZ '-infinity'",
        high=high or "TIMESTAMPTZ 'infinity'",
        paths=", ".join(literal(file.url) for file in source.direct),
    )
    ((groups, kept, size, kept_size),) = query.rows(statement)
    kept_bytes, all_bytes = (size_text(int(str(s or 0))) for s in (kept_size, size))
    return (
        f"{kept:,} of {groups:,} by time, {kept_bytes} of {all_bytes}; other filters may skip more"
    )


def _reasons(source: DatasetSource) -> Iterator[str]:
    if source.read.times == ANY:
        yield (
            "by time: no condition on timestamp with constants reaches the dataset"
            " (a limit, a change of the column or an outer join between may hide one)"
        )
    if source.fresh is not None and source.fresh.has_any:
        yield "fresh records: they are decoded whole, then filtered"
    if source.indirect:
        yield (
            f"{len(source.indirect):,} files by Parquet's filters: they are of format 1, lack a"
            " promoted column that is read, or are not on this machine"
        )


def _times(source: DatasetSource) -> str:
    low, high = (_shown(micros) for micros in source.read.times)
    return "all" if source.read.times == ANY else f"{low or 'the first'} to {high or 'the last'}"


def _shown(micros: int | None) -> str | None:
    if micros is None:
        return None
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)).isoformat()
