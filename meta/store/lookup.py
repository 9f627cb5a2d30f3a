"""Segment lookup: the segments that overlap a range of event time, at one version.

A segment of duration class c is shorter than 4^c seconds, so one that overlaps [qs, qe) starts
within (qs - 4^c s, qe): one tight range of segments_lookup_index per class, at any age.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import text

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.store import dataset_scope, found_segments, held_classes, pg_arrays, versions
from meta.store.ages import NOW
from meta.store.engine import TimelineChanged, Transaction
from meta.store.found_segments import COLUMNS, FoundSegment, Position
from meta.store.segments import DURATION_CLASS_MAX, class_span_nanos
from meta.store.timelines import IS_CURRENT

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# Of so many datasets every class of duration is probed, of more only those that hold a segment.
DATASETS_PROBED_MAX = 50
DATASETS_AT_ONCE = 250
ID_MAX = UUID(int=2**128 - 1)
CLASSES = range(DURATION_CLASS_MAX + 1)
# Pairs of key and class of datasets, as two array literals in the order of the keys.
FindClasses: TypeAlias = Callable[[Transaction, Sequence[int]], tuple[str, str]]
_BEFORE_ALL = Position(-1, -1, INT64_MIN, ID_MAX)


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """The counter and the database's time in seconds."""

    version: int
    now_secs: int


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


_SNAPSHOT = text(
    f"SELECT {IS_CURRENT} IS TRUE, version, extract(epoch FROM now())::bigint FROM meta_state"  # noqa: S608
)
DATASETS = f"""
    SELECT d.key, d.id, d.name, d.deletion_horizon,
           d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon AND EXISTS (
             SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = {{version}}
               AND p.expires_at > {NOW}) AS is_pinned
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE (cast(:names AS text[]) IS NULL OR d.name = ANY(cast(:names AS text[])))
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(cast(:visible AS uuid[])))
      AND v.from_version <= {{version}} AND (v.to_version IS NULL OR v.to_version > {{version}})
    ORDER BY d.key
"""  # noqa: S608
_DATASETS = text(DATASETS.format(version=":version"))
# One range of the index after the other, in the order of the page: the sort is incremental on
# `place`, so ranges behind the limit are never read. A range begins behind `low` of its class, that
# of the position behind that. Arrays travel as literals: see meta.store.pg_arrays.
_FIND = text(f"""
    SELECT {COLUMNS}
    FROM (SELECT key, dur_class, place, key = :key_behind AND dur_class = :class_behind AS is_begun
          FROM unnest(cast(:keys AS integer[]), cast(:classes AS smallint[]))
               WITH ORDINALITY u (key, dur_class, place)
          WHERE (key, dur_class) >= (:key_behind, :class_behind)) d
         CROSS JOIN LATERAL (
            SELECT id, message, created_version, tombstone_version, facts, crc32c, start_ns,
                   dataset_key, segments.dur_class
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


def snapshot(tx: Transaction) -> CounterSnapshot:
    """The version and time of this transaction's snapshot. Raises TimelineChanged."""
    is_current, version, now_secs = tx.execute(_SNAPSHOT).one()
    if not is_current:
        raise TimelineChanged
    return CounterSnapshot(version, now_secs)


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

    Names and their datasets never change at a version, so every page of a cursor gets the same.
    Raises NotFound for an unknown name, VersionExpired where objects may be gone.
    """
    visible = dataset_scope.visible_ids()
    values = {"names": list(names) or None, "version": version, "visible": visible}
    rows = tx.execute(_DATASETS, values).all()
    unknown = set(names) - {row.name for row in rows}
    if unknown:
        raise NotFound("there is no such dataset", dataset_name=min(unknown))
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
    return found_segments.fetch(tx, _FIND, values | bounds(query))


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
