"""Finding segments: which overlap a range of event time, at one version.

A segment of duration class c is shorter than 4^c seconds, so one that overlaps [qs, qe) starts
within (qs - 4^c s, qe): one tight stretch of segments_lookup_index per class, at any age.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Integer, Uuid, bindparam, text

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.store.engine import Transaction
from meta.store.segments import DURATION_CLASS_MAX, Segment, class_span_nanos

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
DATASETS_AT_ONCE_MAX = 64
_ID_MAX = UUID(int=2**128 - 1)
_CLASSES = range(DURATION_CLASS_MAX + 1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counter, the versions a failover jumped over, and the database's time in seconds."""

    version: int
    gap_start: int
    gap_end: int
    now_secs: int


@dataclass(frozen=True, slots=True)
class Position:
    """The last segment of a page; the next page begins behind it."""

    dataset_key: int
    dur_class: int
    start_ns: int
    segment_id: UUID


@dataclass(frozen=True, slots=True)
class VisibleDataset:
    """A dataset as it was visible at the version that is read."""

    key: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Query:
    """Which segments: those in a closed range of event time, at a version, behind a position."""

    start_ns: int
    last_ns: int
    version: int
    behind: Position | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A segment and where it stands in the order."""

    segment: Segment
    position: Position


_SNAPSHOT = text(
    "SELECT version, gap_start, gap_end, extract(epoch FROM now())::bigint FROM meta_state"
)
_DATASETS = text("""
    SELECT d.key, d.id, d.name, d.deletion_horizon
    FROM datasets d JOIN dataset_visibility v ON v.dataset_key = d.key
    WHERE (cast(:names AS text[]) IS NULL OR d.name = ANY(:names))
      AND v.from_version <= :version AND (v.to_version IS NULL OR v.to_version > :version)
    ORDER BY d.key
""")
_COLUMNS = (
    "id, start_ns, end_ns, size_bytes, compressed_size_bytes, number_of_events,"
    " prefix, object_name, created_version, tombstone_version, merge_count"
)


def _branch(dur_class: int) -> str:
    at = dur_class + 1
    return (
        f"SELECT {dur_class} AS dur_class, {_COLUMNS} FROM segments"  # noqa: S608
        f" WHERE dataset_key = k.key AND dur_class = {dur_class}"
        f" AND (start_ns, id) > (p.lows[{at}], p.ids[{at}])"
        " AND start_ns <= :last_ns AND end_ns >= :start_ns AND created_version <= :version"
        " AND (tombstone_version IS NULL OR tombstone_version > :version)"
    )


_FIND = text(f"""
    SELECT k.key, s.*
    FROM (SELECT cast(:lows AS bigint[]) AS lows, cast(:ids AS uuid[]) AS ids) p,
         unnest(cast(:keys AS integer[])) WITH ORDINALITY k (key, place)
         CROSS JOIN LATERAL (
            SELECT * FROM ({" UNION ALL ".join(map(_branch, _CLASSES))}) b
            ORDER BY dur_class, start_ns, id LIMIT :most
         ) s
    ORDER BY k.place, s.dur_class, s.start_ns, s.id LIMIT :most
""").bindparams(  # noqa: S608
    bindparam("lows", type_=ARRAY(BigInteger)),
    bindparam("ids", type_=ARRAY(Uuid)),
    bindparam("keys", type_=ARRAY(Integer)),
)


def snapshot(tx: Transaction) -> Snapshot:
    """What this transaction's snapshot says of versions and time."""
    return Snapshot(*tx.execute(_SNAPSHOT).one())


def readable_version(snapshot: Snapshot, wanted: int | None) -> int:
    """The version to read at: the wanted one, or the current. Raises VersionExpired."""
    if wanted is None:
        return snapshot.version
    if wanted > snapshot.version:
        raise InvalidArgument(
            f"as_of_version is {wanted}, the current version is {snapshot.version}",
            field="as_of_version",
        )
    if snapshot.gap_start < wanted < snapshot.gap_end:
        raise VersionExpired("the version was lost in a failover or restore", version=wanted)
    return wanted


def visible_datasets(
    tx: Transaction, names: Sequence[str], version: int
) -> tuple[VisibleDataset, ...]:
    """The datasets of these names, or all, as they were at `version`.

    Names and their datasets never change at a version, so every page of a cursor gets the same.
    Raises NotFound for an unknown name, VersionExpired where objects may be gone.
    """
    rows = tx.execute(_DATASETS, {"names": list(names) or None, "version": version}).all()
    unknown = set(names) - {row.name for row in rows}
    if unknown:
        raise NotFound("there is no such dataset", dataset_name=min(unknown))
    for row in rows:
        if version < row.deletion_horizon:
            raise VersionExpired(
                "objects of the version may be deleted",
                version=version,
                dataset_name=row.name,
                deletion_horizon=row.deletion_horizon,
            )
    return tuple(VisibleDataset(row.key, row.id) for row in rows)


def find(
    tx: Transaction, query: Query, datasets: Sequence[VisibleDataset], most: int
) -> list[Found]:
    """Up to `most` segments in the order (dataset, duration class, start, id)."""
    found: list[Found] = []
    left = _from_position(query.behind, datasets)
    behind, at_once = query.behind, 1
    while left and len(found) < most:
        batch, left = left[:at_once], left[at_once:]
        wanted = most - len(found)
        rows = _find(tx, query, behind, batch, wanted)
        found += rows
        behind = None
        # Dataset by dataset while they are rich, many at once while they are poor.
        per_dataset = len(rows) // len(batch) + 1
        at_once = max(1, min(4 * len(batch), DATASETS_AT_ONCE_MAX, wanted // per_dataset))
    return found


def _from_position(
    behind: Position | None, datasets: Sequence[VisibleDataset]
) -> Sequence[VisibleDataset]:
    if behind is None:
        return datasets
    return [dataset for dataset in datasets if dataset.key >= behind.dataset_key]


def _find(
    tx: Transaction,
    query: Query,
    behind: Position | None,
    batch: Sequence[VisibleDataset],
    most: int,
) -> list[Found]:
    if behind is not None and batch[0].key != behind.dataset_key:
        behind = None
    edges = [_edge(dur_class, query.start_ns, behind) for dur_class in _CLASSES]
    values = {
        "lows": [low for low, _ in edges],
        "ids": [last_id for _, last_id in edges],
        "keys": [dataset.key for dataset in batch],
        "start_ns": query.start_ns,
        "last_ns": query.last_ns,
        "version": query.version,
        "most": most,
    }
    ids = {dataset.key: dataset.id for dataset in batch}
    return [
        Found(
            Segment(row[2], ids[row[0]], *row[3:]),
            Position(row[0], row[1], row[3], row[2]),
        )
        for row in tx.execute(_FIND, values)
    ]


def _edge(dur_class: int, start_ns: int, behind: Position | None) -> tuple[int, UUID]:
    """Behind which (start, id) the segments of a class can overlap and are still to come."""
    low = max(INT64_MIN, start_ns - class_span_nanos(dur_class))
    if behind is None or dur_class > behind.dur_class:
        return low, _ID_MAX
    if dur_class < behind.dur_class:
        return INT64_MAX, _ID_MAX
    return max((low, _ID_MAX), (behind.start_ns, behind.segment_id))
