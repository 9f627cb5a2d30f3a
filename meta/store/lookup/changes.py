"""Changes of datasets: segments that versions added or removed, in the order of the versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.errors import ReplyTooLarge, VersionExpired
from meta.store.catalog import dataset_names, shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.lookup import lookup
from meta.store.segments.segments import NUM_COLUMNS, ROW_COLUMNS, STORED_COLUMNS, SegmentRow
from meta.store.versions import versions

# Changes of one version; a reader gets more by FindSegments at that version.
CHANGES_MAX = 65_536


@dataclass(frozen=True, slots=True)
class WatchedDataset:
    """A dataset and the version beyond which its changes are read."""

    key: int
    id: UUID
    since: int


class SegmentChange(NamedTuple):
    """A segment that a version added, or removed if `is_removed`.

    `is_merge`: an added segment that holds the records of those that the version removed.
    `replaced_by`: the segment that holds a removed one's records, None if they were deleted.
    """

    dataset_key: int
    version: int
    is_removed: bool
    is_merge: bool
    replaced_by: str | None
    segment: SegmentRow


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """All changes of whole versions (since, through]."""

    changes: tuple[SegmentChange, ...]
    through: int


_DATASET = scope.statement(f"""
    SELECT d.key, d.id, d.deletion_horizon FROM datasets d
    WHERE {shown_names.is_live("d", "cast(:name AS text)")}
""")  # noqa: S608
_LIVE = text("""
    SELECT key, deletion_horizon FROM datasets
    WHERE key = ANY(:keys) AND deleted_at IS NULL AND id = ANY(:ids)
""")
# A merge and its inputs share a version; above the horizon the rows of both are there.
_CHANGES = text(f"""
    SELECT d.key, s.version, s.is_removed, s.is_merge, s.replaced_by::text, {ROW_COLUMNS}
    FROM unnest(cast(:keys AS integer[]), cast(:ids AS text[]), cast(:sinces AS bigint[]))
           WITH ORDINALITY AS d (key, id, since, place)
         CROSS JOIN LATERAL (
           (SELECT created_version AS version, false AS is_removed,
                   EXISTS (SELECT FROM segment_lineage l JOIN segments i ON i.id = l.input_id
                           WHERE l.output_id = segments.id
                             AND i.tombstone_version = segments.created_version) AS is_merge,
                   cast(NULL AS uuid) AS replaced_by, {STORED_COLUMNS}
            FROM segments
            WHERE dataset_key = d.key AND created_version > d.since AND created_version <= :through
            ORDER BY created_version, id LIMIT :most)
           UNION ALL
           (SELECT tombstone_version, true, false,
                   (SELECT o.id FROM segment_lineage l JOIN segments o ON o.id = l.output_id
                    WHERE l.input_id = segments.id
                      AND o.created_version = segments.tombstone_version LIMIT 1) AS output_id,
                   {STORED_COLUMNS}
            FROM segments
            WHERE dataset_key = d.key AND tombstone_version > d.since
              AND tombstone_version <= :through
            ORDER BY tombstone_version, id LIMIT :most)
           ORDER BY version, is_removed, id LIMIT :most) s
    ORDER BY d.place, s.version, s.is_removed, s.id
""")  # noqa: S608
_NUM_OWN = 5


def resolve(tx: Transaction, name: str, since: int) -> WatchedDataset:
    """The live dataset of a name, to be read from a version on.

    Raises NotFound, InvalidArgument for a version to come, VersionExpired below the horizon: rows
    of segments that were removed since may be deleted.
    """
    lookup.readable_version(tx, versions.snapshot(tx), since, field="since_version")
    row = tx.execute(_DATASET, {"name": name}).one_or_none()
    if row is None or not scope.is_visible(row.id):
        raise dataset_names.missing(tx, name)
    if since < row.deletion_horizon:
        raise VersionExpired(
            "changes since the version are forgotten",
            version=since,
            deletion_horizon=row.deletion_horizon,
        )
    return WatchedDataset(row.key, row.id, since)


def horizons(tx: Transaction, datasets: Sequence[WatchedDataset]) -> dict[int, int]:
    """The deletion horizon of those datasets that are not deleted, by key."""
    values = {
        "keys": [dataset.key for dataset in datasets],
        "ids": [dataset.id for dataset in datasets],
    }
    return {row.key: row.deletion_horizon for row in tx.execute(_LIVE, values)}


def read(
    tx: Transaction, datasets: Sequence[WatchedDataset], through: int, most: int
) -> dict[int, ChangeBatch]:
    """Changes of each dataset up to a version: about `most`, but whole versions, at least one."""
    batches = _read(tx, datasets, through, most)
    for dataset in datasets:
        limit = most
        while batches[dataset.key] is None:
            if limit >= CHANGES_MAX:
                raise ReplyTooLarge(
                    f"a version has more than {CHANGES_MAX} changes: read it by FindSegments",
                    dataset_id=dataset.id,
                )
            limit = min(8 * limit, CHANGES_MAX)
            (larger,) = _read(tx, [dataset], through, limit).values()
            batches[dataset.key] = larger and _first_version(larger)
    return {key: batch for key, batch in batches.items() if batch is not None}


def _first_version(batch: ChangeBatch) -> ChangeBatch:
    first = batch.changes[0].version
    changes = tuple(change for change in batch.changes if change.version == first)
    return ChangeBatch(changes, first)


def _read(
    tx: Transaction, datasets: Sequence[WatchedDataset], through: int, most: int
) -> dict[int, ChangeBatch | None]:
    values = {
        "keys": [dataset.key for dataset in datasets],
        "ids": [str(dataset.id) for dataset in datasets],
        "sinces": [dataset.since for dataset in datasets],
        "through": through,
        # One more, by which a cut is seen.
        "most": most + 1,
    }
    changes: dict[int, list[SegmentChange]] = {dataset.key: [] for dataset in datasets}
    for row in tx.execute(_CHANGES, values).all():
        segment = SegmentRow._make(row[_NUM_OWN : _NUM_OWN + NUM_COLUMNS])
        changes[row[0]].append(SegmentChange._make((*row[:_NUM_OWN], segment)))
    return {key: _whole(rows, through, most) for key, rows in changes.items()}


def _whole(rows: list[SegmentChange], through: int, most: int) -> ChangeBatch | None:
    """The whole versions of some rows; None if the first is not whole."""
    if len(rows) <= most:
        return ChangeBatch(tuple(rows), through)
    cut = rows[-1].version
    whole = tuple(row for row in rows if row.version < cut)
    return ChangeBatch(whole, cut - 1) if whole else None
