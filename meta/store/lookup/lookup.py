"""Segment lookup: the segments that overlap a range of time at a version, and their messages.

A segment of duration class c is shorter than 4^c seconds, so one that overlaps [qs, qe) starts
within (qs - 4^c s, qe): one tight range of segments_lookup_index per class, at any age.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.errors import InvalidArgument, VersionExpired
from meta.store.catalog import dataset_names
from meta.store.engine import continuity, dataset_scope, driver_statements, pg_arrays
from meta.store.engine.pool import BINARY, Database, Transaction
from meta.store.lookup import held_classes
from meta.store.segments import segments
from meta.store.segments.segments import DURATION_CLASS_MAX, class_span_nanos, write_message
from meta.store.versions import versions
from meta.store.versions.clock import NOW
from meta.store.versions.versions import CounterSnapshot

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# Of so many datasets every class of duration is probed, of more only those that hold a segment.
DATASETS_PROBED_MAX = 50
DATASETS_AT_ONCE = 250
# The columns of a found segment, from a segment `s`.
FOUND_COLUMNS = (
    "s.message, s.created_version, s.tombstone_version, s.facts, s.crc32c, s.foreign_file,"
    " uuid_send(s.id),"
    " s.dataset_key, s.dur_class, s.start_ns"
)
_BY_IDS = f"""
    SELECT {FOUND_COLUMNS} FROM segments s
    WHERE s.id = ANY(cast({{ids}} AS uuid[]))
      AND (cast({{visible}} AS uuid[]) IS NULL OR s.dataset_key IN (
        SELECT key FROM datasets WHERE id = ANY(cast({{visible}} AS uuid[]))))
"""  # noqa: S608
_IN_TRANSACTION = text(_BY_IDS.format(ids=":ids", visible=":visible"))
_BY_ITSELF = _BY_IDS.format(ids="$1", visible="$2").encode()


@dataclass(frozen=True, slots=True)
class Position:
    """The last segment of a page; the next page begins behind it."""

    dataset_key: int
    dur_class: int
    start_ns: int
    segment_id: UUID


class FoundSegment(NamedTuple):
    """A segment's message, what may change of it, and its position in the order of the pages.

    `message` is what `segments.write_message` wrote, None in rows of releases before.
    """

    message: bytes | None
    created_version: int
    tombstone_version: int | None
    facts: bytes | None
    crc32c: int | None
    foreign_file: bytes | None
    id: bytes
    dataset_key: int
    dur_class: int
    start_ns: int

    def position(self) -> Position:
        """Position of the page after one that ends here."""
        return Position(self.dataset_key, self.dur_class, self.start_ns, UUID(bytes=self.id))


def fetch_found(
    tx: Transaction, statement: TextClause, values: Mapping[str, object]
) -> list[FoundSegment]:
    """The segments that a statement selects FOUND_COLUMNS of."""
    # In binary form and at once: texts cost more on both sides, rows one by one as much again.
    result = tx.execute(statement, values, execution_options={BINARY: True})
    return list(map(FoundSegment._make, result.cursor.fetchall()))


def found_by_ids(tx: Transaction, ids: Sequence[UUID]) -> list[FoundSegment]:
    """The segments that the caller may see, tombstoned ones too, in the order of distinct `ids`."""
    values = dict(zip(("ids", "visible"), _values(ids), strict=True))
    return _in_order(ids, fetch_found(tx, _IN_TRANSACTION, values))


def kept_by_ids(database: Database, ids: Sequence[UUID]) -> list[FoundSegment] | None:
    """Like `found_by_ids` by one statement; None where a row does not keep its message.

    Raises Conflict where a migration is under way.
    """
    rows = driver_statements.fetch_rows(database, _BY_ITSELF, _values(ids))
    found = _in_order(ids, map(FoundSegment._make, rows))
    return None if any(segment.message is None for segment in found) else found


def _values(ids: Sequence[UUID]) -> list[str | None]:
    visible = dataset_scope.visible_ids()
    return [pg_arrays.uuids(ids), None if visible is None else pg_arrays.uuids(visible)]


def _in_order(ids: Sequence[UUID], found: Iterable[FoundSegment]) -> list[FoundSegment]:
    by_id = {segment.id: segment for segment in found}
    return [by_id[one.bytes] for one in ids if one.bytes in by_id]


def messages(tx: Transaction, found: Sequence[FoundSegment]) -> list[bytes]:
    """The messages of segments, those that their rows do not keep made of their rows."""
    unknown = [UUID(bytes=segment.id) for segment in found if segment.message is None]
    made = {}
    for row in segments.get_many(tx, unknown):
        made[UUID(row.id).bytes] = write_message(
            row.id,
            row.dataset_id,
            (row.start_ns, row.end_ns),
            (row.size_bytes, row.compressed_size_bytes, row.number_of_events),
            (row.prefix, row.object_name),
            row.merge_count,
        )
    return [made[s.id] if s.message is None else s.message for s in found]


ID_MAX = UUID(int=2**128 - 1)
CLASSES = range(DURATION_CLASS_MAX + 1)
# Pairs of key and class of datasets, as two array literals in the order of the keys.
FindClasses: TypeAlias = Callable[[Transaction, Sequence[int]], tuple[str, str]]
_BEFORE_ALL = Position(-1, -1, INT64_MIN, ID_MAX)


class VisibleDataset(NamedTuple):
    """A dataset as it was visible at the version that is read."""

    key: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Query:
    """A lookup: segments in a closed range of event time, at a version, behind a position."""

    start_ns: int
    last_ns: int
    version: int
    behind: Position | None = None
    # Bit n asks for signal n; None for all.
    signals: int | None = None


DATASETS = f"""
    SELECT d.key, d.id, coalesce(v.name, d.name) AS name, d.deletion_horizon,
           d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon AND EXISTS (
             SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = {{version}}
               AND p.expires_at > {NOW}) AS is_pinned
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE (cast(:names AS text[]) IS NULL OR d.key = ANY(ARRAY(
             SELECT key FROM datasets WHERE name = ANY(cast(:names AS text[])) UNION ALL
             SELECT dataset_key FROM dataset_visibility WHERE name = ANY(cast(:names AS text[])))))
      AND (cast(:names AS text[]) IS NULL
           OR coalesce(v.name, d.name) = ANY(cast(:names AS text[])))
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(cast(:visible AS uuid[])))
      AND v.from_version <= {{version}} AND (v.to_version IS NULL OR v.to_version > {{version}})
    ORDER BY d.key
"""  # noqa: S608
_DATASETS = text(DATASETS.format(version=":version"))
# One range of the index after the other, in the order of the page: the sort is incremental on
# `place`, so ranges behind the limit are never read. A range begins behind `low` of its class, that
# of the position behind that. Arrays travel as literals: see meta.store.engine.pg_arrays.
_FIND = text(f"""
    SELECT {FOUND_COLUMNS}
    FROM (SELECT key, dur_class, place, key = :key_behind AND dur_class = :class_behind AS is_begun
          FROM unnest(cast(:keys AS integer[]), cast(:classes AS smallint[]))
               WITH ORDINALITY u (key, dur_class, place)
          WHERE (key, dur_class) >= (:key_behind, :class_behind)) d
         CROSS JOIN LATERAL (
            SELECT id, message, created_version, tombstone_version, facts, crc32c, foreign_file,
                   start_ns, dataset_key, segments.dur_class
            FROM segments
            WHERE dataset_key = d.key AND dur_class = d.dur_class
              AND (start_ns, id) > (
                CASE WHEN d.is_begun THEN cast(:start_behind AS bigint)
                     ELSE (cast(:lows AS bigint[]))[d.dur_class + 1] END,
                CASE WHEN d.is_begun THEN cast(:id_behind AS uuid) ELSE cast(:id_max AS uuid) END)
              AND start_ns <= :last_ns
              AND end_ns >= :start_ns AND created_version <= :version
              AND (tombstone_version IS NULL OR tombstone_version > :version)
              AND (cast(:signals AS smallint) IS NULL OR signals IS NULL
                   OR signals & cast(:signals AS smallint) <> 0)
            ORDER BY start_ns, id LIMIT :most
         ) s
    ORDER BY d.place, s.start_ns, s.id LIMIT :most
""")  # noqa: S608


def readable_version(
    tx: Transaction,
    snapshot: CounterSnapshot,
    requested: int | None,
    *,
    field: str = "as_of_version",
) -> int:
    """The version to read at: the wanted one, or the current. Raises VersionExpired."""
    if requested is None:
        return snapshot.version
    if requested > snapshot.version:
        continuity.look_soon(tx.info)
        raise InvalidArgument(
            f"{field} is {requested}, the current version is {snapshot.version}", field=field
        )
    if versions.is_lost(tx, requested):
        raise VersionExpired("the version was lost in a failover or restore", version=requested)
    return requested


def visible_datasets(
    tx: Transaction, names: Sequence[str], version: int
) -> tuple[VisibleDataset, ...]:
    """The datasets of these names, or all that the caller may see, as they were at `version`.

    A dataset has the name that it had then. Names and their datasets never change at a version, so
    every page of a cursor gets the same.
    Raises NotFound for an unknown name, VersionExpired where objects may be gone.
    """
    visible = dataset_scope.visible_ids()
    values = {"names": list(names) or None, "version": version, "visible": visible}
    rows = tx.execute(_DATASETS, values).all()
    if unknown := set(names) - {row.name for row in rows}:
        raise dataset_names.missing(tx, min(unknown))
    for row in rows:
        if version < row.deletion_horizon and not row.is_pinned:
            raise VersionExpired(
                "objects of the version may be deleted",
                version=version,
                dataset_name=row.name,
                deletion_horizon=row.deletion_horizon,
            )
    return tuple([VisibleDataset(row.key, row.id) for row in rows])


def find(
    tx: Transaction,
    query: Query,
    datasets: Sequence[VisibleDataset],
    most: int,
    find_classes: FindClasses | None = None,
) -> list[FoundSegment]:
    """Up to `most` segments in the order (dataset, duration class, start, id).

    `find_classes` remembers the classes of datasets; without it they are read.
    """
    find_classes = find_classes or _read_classes
    first = 0 if query.behind is None else query.behind.dataset_key
    left = [dataset.key for dataset in datasets if dataset.key >= first]
    if len(left) <= DATASETS_PROBED_MAX:
        keys = [key for key in left for _ in CLASSES]
        classes = pg_arrays.numbers([*CLASSES] * len(left))
        return _find(tx, query, (pg_arrays.numbers(keys), classes), most)
    matches: list[FoundSegment] = []
    while left and len(matches) < most:
        batch, left = left[:DATASETS_AT_ONCE], left[DATASETS_AT_ONCE:]
        matches += _find(tx, query, find_classes(tx, batch), most - len(matches))
    return matches


def _read_classes(tx: Transaction, keys: Sequence[int]) -> tuple[str, str]:
    return held_classes.literals(list(held_classes.read(tx, keys).values()))


def _find(tx: Transaction, query: Query, pairs: tuple[str, str], most: int) -> list[FoundSegment]:
    """Look into pairs of a dataset's key and a duration class, two array literals."""
    keys, classes = pairs
    values = {"keys": keys, "classes": classes, "version": query.version, "most": most}
    return fetch_found(tx, _FIND, values | bounds(query))


def bounds(query: Query) -> dict[str, object]:
    """The values of a statement that say where each class begins, and behind what the page does."""
    lows = [max(INT64_MIN, query.start_ns - class_span_nanos(c)) for c in CLASSES]
    behind = query.behind or _BEFORE_ALL
    start_behind, id_behind = INT64_MIN, ID_MAX
    if behind.dur_class in CLASSES:
        start_behind, id_behind = max(
            (lows[behind.dur_class], ID_MAX), (behind.start_ns, behind.segment_id)
        )
    return {
        "lows": pg_arrays.numbers(lows),
        "key_behind": behind.dataset_key,
        "class_behind": behind.dur_class,
        "start_behind": start_behind,
        "id_behind": id_behind,
        "id_max": ID_MAX,
        "start_ns": query.start_ns,
        "last_ns": query.last_ns,
        "signals": query.signals,
    }
