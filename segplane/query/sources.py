"""Tables of DuckDB over the files of datasets, each at the one version of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from kql.pushdown.reads import DatasetRead
from kql.typed import Promoted
from segments.facts.automatic_columns import without_ids
from segments.token_index.place import row_ranges
from segplane.query.column_types import duckdb_types, no_rows
from segplane.query.conditions import where, within
from segplane.query.errors import QueryError
from segplane.query.file_groups import SQL_TYPES, FileGroup, field_id_of, groups_of, selected
from segplane.query.quoting import literal, quoted
from segplane.read import DatasetFile, OpenDataset, ReadError, open_dataset
from segplane.read.bounds import TimeBounds
from segplane.read.group_opening import GroupMember, MemberRead, open_group
from segplane.read.opening import version_at
from segplane.read.rows.duckdb_functions import computed_sql
from segplane.read.rows.fresh import FreshRecords

if TYPE_CHECKING:
    import duckdb

_ALWAYS = TimeBounds()
_TIMES = ("timestamp", "timestamp_nanos")
# Each is a branch of the table's view, which DuckDB plans by itself.
_NARROWED_MAX = 32
# Ranges of a file's rows, with each of which DuckDB compares the number of each row.
_RANGES_MAX = 32
Opener = Callable[[DatasetRead, TimeBounds, int | None], OpenDataset]
# Opens datasets of groups together, at a version.
GroupOpener = Callable[
    [Sequence[MemberRead], int | None], AbstractContextManager[tuple[OpenDataset, ...]]
]


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """A dataset's table: files that DuckDB reads itself, and those that are read for it."""

    read: DatasetRead
    version: int
    bounds: TimeBounds
    direct: tuple[DatasetFile, ...] = ()
    indirect: tuple[DatasetFile, ...] = ()
    # Baby segments, which are read for DuckDB too; None without `--fresh`.
    fresh: FreshRecords | None = None
    # Files without any of the terms that the query looks for, by their token indexes.
    num_left_out: int = 0
    # None if the table cannot be limited to a part of its files.
    opened: OpenDataset | None = None

    @property
    def files(self) -> tuple[DatasetFile, ...]:
        """Every file."""
        return self.direct + self.indirect


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """Meta's address, the version to read, and the bounds of time that hold for all records.

    `as_of` is a version's number, or a time; `is_fresh` adds records that are committed and not
    merged yet, and `adjusts_time` the time adjustment of each dataset to the times of its records,
    which `bounds` are of then. `opener` opens datasets in another way than by the address, with the
    times to read and the version, and `group_opener` those of groups; they raise ReadError.
    """

    address: str | None = None
    as_of: int | datetime | None = None
    bounds: TimeBounds = _ALWAYS
    is_fresh: bool = False
    opener: Opener | None = None
    group_opener: GroupOpener | None = None
    adjusts_time: bool = False


def open_sources(
    connection: duckdb.DuckDBPyConnection,
    reads: Sequence[DatasetRead],
    query_place: QueryPlace,
    stack: ExitStack,
) -> tuple[DatasetSource, ...]:
    """Open datasets at one version, and name a table after each. Raises QueryError.

    The version is that of the first one, or the last one that any of them had at a time.
    """
    sources: list[DatasetSource] = []
    as_of = _version(reads, query_place, stack)
    try:
        for read, opened in _opened(reads, query_place, as_of, stack):
            source = _source(opened, read, query_place)
            _create(connection, opened, source, query_place.bounds)
            sources.append(source)
    except ReadError as error:
        raise QueryError(str(error)) from None
    return tuple(sources)


def _opened(
    reads: Sequence[DatasetRead], query_place: QueryPlace, as_of: int | None, stack: ExitStack
) -> Iterator[tuple[DatasetRead, OpenDataset]]:
    members: list[tuple[DatasetRead, MemberRead]] = []
    for read in reads:
        if isinstance(read.member, GroupMember):
            bounds = query_place.bounds.within(*read.nanos())
            members.append((read, MemberRead(read.name, read.member, read.columns, bounds)))
            continue
        opened = stack.enter_context(_open(read, query_place, as_of))
        as_of = opened.version
        yield read, opened
    if members:
        if query_place.adjusts_time:
            # The adjustments of up to a thousand datasets are not read with their files.
            raise QueryError("a union of a whole group takes no time adjustment: name its datasets")
        open_all = query_place.group_opener or partial(open_group, meta_address=query_place.address)
        together = stack.enter_context(open_all([read for _, read in members], as_of))
        yield from zip((read for read, _ in members), together, strict=True)


def _version(reads: Sequence[DatasetRead], query_place: QueryPlace, stack: ExitStack) -> int | None:
    """Return the version to read, None for the current one. Raises QueryError."""
    try:
        names = [read.name for read in reads]
        return stack.enter_context(version_at(names, query_place.as_of, query_place.address))
    except ReadError as error:
        raise QueryError(str(error)) from None


def _open(read: DatasetRead, query_place: QueryPlace, as_of: int | None) -> OpenDataset:
    bounds = query_place.bounds.within(*read.nanos())
    if query_place.opener is not None:
        return query_place.opener(read, bounds, as_of)
    return open_dataset(
        read.name,
        start=bounds.start,
        end=bounds.end,
        columns=read.columns,
        as_of=as_of,
        fresh=query_place.is_fresh,
        adjust_time=query_place.adjusts_time,
        meta_address=query_place.address,
    )


def _source(opened: OpenDataset, read: DatasetRead, query_place: QueryPlace) -> DatasetSource:
    """Split the files: DuckDB reads local ones that have every column that is needed."""
    # pyarrow takes long to import.
    from segplane.read.files.term_lookup import files_with

    direct: list[DatasetFile] = []
    indirect: list[DatasetFile] = []
    files = files_with(read.terms, opened.files())
    for file in files:
        is_stored = opened.columns.has_as_stored(file)
        if not is_stored:
            # The attributes of such rows are read anyway, to complete their columns.
            file = replace(file, written=without_ids(file.written))
        is_direct = file.store.provider == "file" and opened.columns.has_as_stored(file, by_id=True)
        (direct if is_direct else indirect).append(file)
    # Arrow prunes files by the times that meta has; DuckDB opens each one.
    is_adjusted = bool(opened.time_adjustment) or query_place.bounds != _ALWAYS
    is_fixed = is_adjusted or bool(indirect) or opened.fresh is not None
    return DatasetSource(
        read,
        opened.version,
        opened.bounds,
        tuple(direct),
        tuple(indirect),
        opened.fresh,
        len(opened.files()) - len(files),
        None if is_fixed else opened,
    )


def read_within(
    connection: duckdb.DuckDBPyConnection, source: DatasetSource, bounds: TimeBounds
) -> None:
    """Limit a table to the files with times within bounds, which saves opening the others."""
    if source.opened is not None:
        files = tuple(f for f in source.direct if bounds.overlap(f.start_time, f.end_time))
        _create(connection, source.opened, replace(source, direct=files), _ALWAYS)


def _create(
    connection: duckdb.DuckDBPyConnection,
    opened: OpenDataset,
    source: DatasetSource,
    bounds: TimeBounds,
) -> None:
    """Create the view that a query reads."""
    # pyarrow takes long to import.
    from segments.parquet.bounded import is_bounded
    from segplane.read.rows.adjusted import adjusted_dataset, adjusted_sql, adjusted_times
    from segplane.read.rows.arrow_source import segments_dataset

    nanos, times = opened.time_adjustment, dict[str, str]()
    if nanos:
        # Those of the query are of adjusted times, by which DuckDB would prune nothing.
        bounds = opened.bounds
        times = adjusted_times(opened.columns, (*opened.schema.names, "timestamp"))
    floating = [field.name for field in opened.schema if not is_bounded(field.type)]
    selects = []
    for having in groups_of(source.direct, source.read.hidden):
        columns = selected(source.read.columns, source.read.hidden, having.columns, floating)
        schema = _schema(connection, opened, having.columns, (*times, *times.values()))
        for files, conditions in _reads_of(having.files):
            urls = ", ".join(literal(file.url) for file in files)
            numbered = ", file_row_number = true" if conditions else ""
            parquet = f"read_parquet([{urls}], schema = {schema}{numbered})"
            rows = f"{parquet}{where([*conditions, *within(bounds)])}"
            if nanos:
                rows = f"(SELECT * REPLACE ({adjusted_sql(times, nanos)}) FROM {rows})"  # noqa: S608
            selects.append(f"SELECT {columns} FROM {rows}")  # noqa: S608
    for number, having in enumerate(_indirect_groups(source, not selects)):
        columns = selected(source.read.columns, source.read.hidden, having.columns)
        table = f"$read{number or ''} {source.read.name}"
        fresh = source.fresh if having.is_plain else None
        if not having.files and fresh is None:
            # A group may have very many datasets without records of the time that is asked for.
            selects.append(f"SELECT {columns} FROM ({no_rows(connection, opened.columns)})")  # noqa: S608
            continue
        read_columns = having.read_columns(opened.columns, opened.promoted_columns)
        segments = segments_dataset(read_columns, opened.bounds, having.files, fresh, opened.pin)
        if nanos:
            segments = adjusted_dataset(segments, read_columns, opened.pin, nanos)
        connection.register(table, segments)
        selects.append(f"SELECT {columns} FROM {quoted(table)}")  # noqa: S608
    body = " UNION ALL ".join(selects)
    added = [f"{computed_sql(name)} AS {name}" for name in source.read.words]
    added += [f"{literal(value)} AS {name}" for name, value in source.read.constants]
    if added:
        body = f"SELECT *, {', '.join(added)} FROM ({body})"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(source.read.name)} AS {body}")


def _indirect_groups(source: DatasetSource, is_alone: bool) -> list[FileGroup]:
    """Return the groups of files that are read for DuckDB; one at least if there is nothing else.

    Fresh records belong to a group of files without automatic columns.
    """
    groups = groups_of(source.indirect, source.read.hidden)
    has_plain = any(group.is_plain for group in groups)
    if (source.fresh is not None and not has_plain) or (is_alone and not groups):
        groups.append(FileGroup((), ()))
    return groups


def _reads_of(
    files: Sequence[DatasetFile],
) -> Iterator[tuple[Sequence[DatasetFile], Sequence[str]]]:
    """Yield files that are read by one call, and the condition on their rows.

    A file of which spans are skipped has a call with the numbers of the other rows.
    """
    narrowed = [f for f in files if f.spans and len(row_ranges(f.spans)) <= _RANGES_MAX]
    narrowed.sort(key=lambda f: -f.num_spans_left_out)
    narrowed = narrowed[:_NARROWED_MAX]
    ids = {file.segment_id for file in narrowed}
    if whole := [file for file in files if file.segment_id not in ids]:
        yield whole, ()
    for file in narrowed:
        ranges = (
            f"file_row_number BETWEEN {start} AND {end - 1}"
            for start, end in row_ranges(file.spans or ())
        )
        yield [file], [f"({' OR '.join(ranges)})"]


def _schema(
    connection: duckdb.DuckDBPyConnection,
    opened: OpenDataset,
    automatic: Sequence[Promoted],
    adjusted: Iterable[str],
) -> str:
    """Return columns by their ids in the files; a file that lacks one has null there."""
    names = dict.fromkeys((*opened.schema.names, *_TIMES, *adjusted))
    types = duckdb_types(connection, opened.columns.all)
    numbered = [(opened.columns.field_id(name), name, types[name]) for name in names]
    numbered += [(field_id_of(c), c.name, SQL_TYPES[c.type]) for c in automatic]
    entries = (
        f"{field_id}: {{name: {literal(name)}, type: {literal(type_)}, default_value: NULL}}"
        for field_id, name, type_ in numbered
    )
    return f"MAP {{{', '.join(entries)}}}"


def direct_paths(sources: Sequence[DatasetSource]) -> list[str]:
    """Return the paths that DuckDB itself has to open."""
    return [file.url for source in sources for file in source.direct]
