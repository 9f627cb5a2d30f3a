"""Segment lookup: the segments that overlap a range of event time, at one version.

A segment of duration class c is shorter than 4^c seconds, so one that overlaps [qs, qe) starts
within (qs - 4^c s, qe): one tight range of segments_lookup_index per class, at any age.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Integer,
    SmallInteger,
    Uuid,
    bindparam,
    text,
)

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.store import dataset_scope, found_segments, versions
from meta.store.ages import NOW
from meta.store.engine import TimelineChanged, Transaction
from meta.store.found_segments import COLUMNS, FoundSegment, Position
from meta.store.segments import DURATION_CLASS_MAX, class_span_nanos
from meta.store.timelines import IS_CURRENT

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# Of so many datasets every class of duration is probed, of more only those that hold a segment.
DATASETS_PROBED_MAX = 50
DATASETS_AT_ONCE = 250
_ID_MAX = UUID(int=2**128 - 1)
_CLASSES = range(DURATION_CLASS_MAX + 1)


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """The counter and the database's time in seconds."""

    version: int
    now_secs: int


@dataclass(frozen=True, slots=True)
class VisibleDataset:
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
_DATASETS = text(f"""
    SELECT d.key, d.id, d.name, d.deletion_horizon,
           d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon AND EXISTS (
             SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = :version
               AND p.expires_at > {NOW}) AS is_pinned
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE (cast(:names AS text[]) IS NULL OR d.name = ANY(:names))
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(:visible))
      AND v.from_version <= :version AND (v.to_version IS NULL OR v.to_version > :version)
    ORDER BY d.key
""")  # noqa: S608
# The classes of each dataset, by leaps in the index: a probe for each class and one to end.
_CLASSES_HELD = text("""
    SELECT d.key, c.dur_class
    FROM unnest(cast(:keys AS integer[])) WITH ORDINALITY d (key, place)
         CROSS JOIN LATERAL (
            WITH RECURSIVE leaps (dur_class) AS (
                (SELECT dur_class FROM segments WHERE dataset_key = d.key
                 ORDER BY dataset_key, dur_class LIMIT 1)
                UNION ALL
                SELECT n.dur_class FROM leaps CROSS JOIN LATERAL (
                    SELECT s.dur_class FROM segments s
                    WHERE s.dataset_key = d.key AND s.dur_class > leaps.dur_class
                    ORDER BY s.dataset_key, s.dur_class LIMIT 1) n)
            SELECT dur_class FROM leaps) c
    ORDER BY d.place, c.dur_class
""").bindparams(bindparam("keys", type_=ARRAY(Integer)))
# One range of the index after the other, in the order of the page: the sort is incremental on
# `place`, so ranges behind the limit are never read.
_FIND = text(f"""
    SELECT {COLUMNS}
    FROM unnest(cast(:keys AS integer[]), cast(:classes AS smallint[]),
                cast(:lows AS bigint[]), cast(:ids AS uuid[]))
             WITH ORDINALITY d (key, dur_class, low, last_id, place)
         CROSS JOIN LATERAL (
            SELECT id, message, created_version, tombstone_version, facts, crc32c, start_ns,
                   dataset_key, segments.dur_class
            FROM segments
            WHERE dataset_key = d.key AND dur_class = d.dur_class
              AND (start_ns, id) > (d.low, d.last_id) AND start_ns <= :last_ns
              AND end_ns >= :start_ns AND created_version <= :version
              AND (tombstone_version IS NULL OR tombstone_version > :version)
              AND (cast(:signals AS smallint) IS NULL OR signals IS NULL
                   OR signals & cast(:signals AS smallint) <> 0)
            ORDER BY start_ns, id LIMIT :most
         ) s
    ORDER BY d.place, s.start_ns, s.id LIMIT :most
""").bindparams(  # noqa: S608
    bindparam("keys", type_=ARRAY(Integer)),
    bindparam("classes", type_=ARRAY(SmallInteger)),
    bindparam("lows", type_=ARRAY(BigInteger)),
    bindparam("ids", type_=ARRAY(Uuid)),
)


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
    return tuple(VisibleDataset(row.key, row.id) for row in rows)


def find(
    tx: Transaction, query: Query, datasets: Sequence[VisibleDataset], most: int
) -> list[FoundSegment]:
    """Up to `most` segments in the order (dataset, duration class, start, id)."""
    behind = query.behind
    first = 0 if behind is None else behind.dataset_key
    left = [dataset for dataset in datasets if dataset.key >= first]
    if len(left) <= DATASETS_PROBED_MAX:
        pairs = [(dataset, dur_class) for dataset in left for dur_class in _CLASSES]
        return _find(tx, query, pairs, most)
    matches: list[FoundSegment] = []
    while left and len(matches) < most:
        batch, left = left[:DATASETS_AT_ONCE], left[DATASETS_AT_ONCE:]
        matches += _find(tx, query, _classes_held(tx, batch), most - len(matches))
    return matches


def _classes_held(
    tx: Transaction, batch: Sequence[VisibleDataset]
) -> list[tuple[VisibleDataset, int]]:
    """The duration classes of which each dataset has segments, of any version, in this order."""
    by_key = {dataset.key: dataset for dataset in batch}
    rows = tx.execute(_CLASSES_HELD, {"keys": list(by_key)}).all()
    return [(by_key[key], dur_class) for key, dur_class in rows]


def _find(
    tx: Transaction, query: Query, pairs: Sequence[tuple[VisibleDataset, int]], most: int
) -> list[FoundSegment]:
    if not pairs:
        return []
    stretches = [
        (dataset.key, dur_class, *_edge(dataset.key, dur_class, query))
        for dataset, dur_class in pairs
    ]
    keys, classes, lows, last_ids = zip(*stretches, strict=True)
    values = {
        "keys": keys,
        "classes": classes,
        "lows": lows,
        "ids": last_ids,
        "start_ns": query.start_ns,
        "last_ns": query.last_ns,
        "version": query.version,
        "signals": query.signals,
        "most": most,
    }
    return found_segments.fetch(tx, _FIND, values)


def _edge(dataset_key: int, dur_class: int, query: Query) -> tuple[int, UUID]:
    """The (start, id) behind which a class may still have overlapping segments."""
    low = max(INT64_MIN, query.start_ns - class_span_nanos(dur_class)), _ID_MAX
    behind = query.behind
    if behind is None or (dataset_key, dur_class) > (behind.dataset_key, behind.dur_class):
        return low
    if (dataset_key, dur_class) < (behind.dataset_key, behind.dur_class):
        return INT64_MAX, _ID_MAX
    return max(low, (behind.start_ns, behind.segment_id))
