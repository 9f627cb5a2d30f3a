"""Tombstones that are due: segments whose grace is over and whose objects then go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text

from meta.store.access import server_state
from meta.store.backups import backups
from meta.store.deletion import deletion_brakes, vacuums
from meta.store.deletion.baselines import IS_EXPECTED
from meta.store.deletion.due import GRACE_BEFORE, HAS_SUCCESSOR, due_before, is_due
from meta.store.deletion.holds import IS_BACKED_UP, IS_BRAKED
from meta.store.engine.pool import Transaction
from meta.store.locks import held_datasets
from meta.store.locks.held_datasets import is_held
from meta.store.pins import pins
from meta.store.segments import object_keys, stats
from meta.store.versions.clock import NOW
from segments.keys import join_key


@dataclass(frozen=True, slots=True)
class Tombstoned:
    """A segment whose object may be deleted now."""

    segment_id: UUID
    dataset_id: UUID
    prefix: str
    object_name: str
    tombstone_time_nanos: int
    tombstone_version: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Result of `confirm`; with refused ids it changed nothing."""

    deleted: int = 0
    live_ids: tuple[UUID, ...] = ()
    early_ids: tuple[UUID, ...] = ()


# The datasets with the oldest tombstones first, each read by its own grace: one with a long grace
# costs a look at its oldest tombstone. Row comparisons, because equality would let the planner walk
# another index over the tombstones of every dataset.
_DUE = text(f"""
    WITH RECURSIVE buried AS (
        -- From one dataset with tombstones to the next along the index: others cost nothing.
        (SELECT dataset_key, tombstone_at FROM segments WHERE tombstone_version IS NOT NULL
         ORDER BY dataset_key, tombstone_at LIMIT 1)
        UNION ALL
        SELECT s.dataset_key, s.tombstone_at FROM buried CROSS JOIN LATERAL (
            SELECT dataset_key, tombstone_at FROM segments
            WHERE dataset_key > buried.dataset_key AND tombstone_version IS NOT NULL
            ORDER BY dataset_key, tombstone_at LIMIT 1) s
    ), oldest AS MATERIALIZED (
        SELECT d.key, d.id, {due_before()} AS due_before, {GRACE_BEFORE} AS grace_before,
          d.vacuum_version, ARRAY(
            SELECT version FROM pins p
            WHERE p.dataset_key = d.key AND p.expires_at > {NOW})
            || (SELECT array_agg(version) FROM backups) AS pinned, (
            SELECT min(version) FROM pins p WHERE p.dataset_key = d.key
              AND p.expires_at > {NOW} AND p.holds_changes) AS changes_from,
            b.braked_at IS NOT NULL AND d.deleted_at IS NULL AS is_braked, b.released_version,
            {is_held("d")} AS is_held
        FROM buried s JOIN datasets d ON d.key = s.dataset_key
          LEFT JOIN deletion_brakes b ON b.dataset_key = d.key
        WHERE s.tombstone_at < {due_before()}
        ORDER BY s.tombstone_at)
    SELECT s.id, o.id, s.prefix, s.object_name,
           (extract(epoch FROM s.tombstone_at) * 1000000000)::bigint,
           s.tombstone_version, o.key, s.created_version
    FROM oldest o CROSS JOIN LATERAL (
        SELECT id, prefix, object_name, tombstone_at, tombstone_version, created_version
        FROM segments s
        WHERE dataset_key >= o.key AND (dataset_key, tombstone_at) < (o.key, o.due_before)
          AND tombstone_version IS NOT NULL
          AND (tombstone_at < o.grace_before OR tombstone_version <= o.vacuum_version)
          AND (o.changes_from IS NULL OR tombstone_version <= o.changes_from)
          AND NOT EXISTS (SELECT FROM unnest(o.pinned) AS pin (version)
                          WHERE created_version <= pin.version AND pin.version < tombstone_version)
          AND (NOT o.is_braked OR tombstone_version <= o.released_version
               OR {IS_EXPECTED}
               OR {HAS_SUCCESSOR})
          -- The records of a merge's inputs are in its output.
          AND (NOT o.is_held OR {HAS_SUCCESSOR})
        ORDER BY dataset_key, tombstone_at, id LIMIT :most) s
    LIMIT :most
""")  # noqa: S608
_RAISE_HORIZON = text("""
    UPDATE datasets SET deletion_horizon = :horizon, pins_horizon = :horizon
    WHERE key = :dataset AND deletion_horizon < :horizon
""")
_LOCK = text(f"""
    SELECT s.id, s.dataset_key, s.prefix, s.object_name, s.compressed_size_bytes,
           s.tombstone_version, d.deletion_horizon,
           NOT {is_due()} AS is_early,
           {IS_BRAKED} AS is_braked,
           EXISTS (SELECT FROM pins p WHERE p.dataset_key = s.dataset_key
                   AND (p.holds_changes OR s.created_version <= p.version)
                   AND p.version < s.tombstone_version
                   AND p.expires_at > {NOW}
                   AND d.pins_horizon IS NOT DISTINCT FROM d.deletion_horizon)
             OR {IS_BACKED_UP} AS is_pinned
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
    WHERE s.id = ANY(:ids) ORDER BY s.id FOR UPDATE OF s
""")  # noqa: S608
# Segments hidden by an operator since their rows were read (a replacement was reverted).
_HIDDEN = text("SELECT id FROM segments WHERE id = ANY(:ids) AND tombstone_at = 'infinity'")
# An altered replacement may be merged once its original is deleted. Only a replacement withdraws a
# loss at the version that it was created at.
_RELEASE_REPLACEMENTS = text("""
    UPDATE segments n SET quarantined_at = NULL
    FROM segment_lineage l JOIN losses x ON x.segment_id = l.input_id
    WHERE l.input_id = ANY(:ids) AND n.id = l.output_id AND n.quarantined_at IS NOT NULL
      AND x.withdrawn_version = n.created_version
""")
_WITHOUT_SUCCESSOR = text(f"""
    SELECT s.id FROM segments s WHERE s.id = ANY(:ids) AND s.dataset_key = ANY(:keys)
      AND NOT {HAS_SUCCESSOR}
""")  # noqa: S608
_REMOVE = text("DELETE FROM segments WHERE id = ANY(:ids)")
_END_LINEAGE = text(
    "INSERT INTO lineage_ends SELECT i FROM unnest(cast(:ids AS uuid[])) i"
    " WHERE NOT EXISTS (SELECT FROM segment_lineage WHERE input_id = i) ON CONFLICT DO NOTHING"
)


def hand_out(
    tx: Transaction, *, grace_secs: float, most: int, percent_max: int = 100
) -> list[Tombstoned]:
    """List segments past their grace, oldest first, and expire the versions that show them.

    Those that a pin, a backup or a lock holds are skipped, and those of a dataset that would lose
    more than `percent_max` percent. The caller commits before it answers: a reader then learns
    VERSION_EXPIRED before it can miss an object.
    """
    server_state.check_deletion_allowed(tx)
    due = tx.execute(_DUE, {"grace": grace_secs, "most": most}).all()
    # Under the lock no pin can be taken at a version that the rows below expire.
    pinned = pins.lock_horizons(tx, sorted({row[6] for row in due})) if due else {}
    # Nor can a backup be created below a horizon that rises.
    kept = backups.lock_versions(tx)
    hidden = set(tx.execute(_HIDDEN, {"ids": [row[0] for row in due]}).scalars()) if due else set()
    due = [row for row in due if row[0] not in hidden]
    due = [row for row in due if not kept.holds(row[7], row[5])]
    free = [row for row in due if not pinned.get(row[6], pins.NOT_PINNED).holds(row[7], row[5])]
    ids = [row[0] for row in free]
    braked = deletion_brakes.brake(
        tx, ids, {row[6] for row in free}, grace_secs=grace_secs, percent_max=percent_max
    )
    held = deletion_brakes.unapproved(tx, ids, braked) if braked else set()
    held |= _locked(tx, free)
    rows = sorted((r for r in free if r[0] not in held), key=lambda row: (row[4], row[0]))
    horizons: dict[int, int] = {}
    for row in rows:
        horizons[row[6]] = max(horizons.get(row[6], 0), row[5])
    if horizons:
        tx.execute(
            _RAISE_HORIZON,
            [{"dataset": key, "horizon": at} for key, at in sorted(horizons.items())],
        )
    return [Tombstoned(*row[:6]) for row in rows]


def _locked(tx: Transaction, rows: Sequence[Row[*tuple[Any, ...]]]) -> set[UUID]:
    """Segments without a successor of datasets that were locked since they were read."""
    keys = held_datasets.among(tx, {row[6] for row in rows})
    if not keys:
        return set()
    values = {"ids": [row[0] for row in rows], "keys": list(keys)}
    return set(tx.execute(_WITHOUT_SUCCESSOR, values).scalars())


def confirm(tx: Transaction, segment_ids: Sequence[UUID], *, grace_secs: float) -> Confirmation:
    """Forget segments whose objects are deleted, all or none; unknown ids are ignored."""
    rows = tx.execute(_LOCK, {"ids": list(segment_ids), "grace": grace_secs}).all()
    live = tuple(row.id for row in rows if row.tombstone_version is None)
    early = tuple(
        row.id
        for row in rows
        if row.tombstone_version is not None
        and (
            row.is_early
            or row.is_pinned
            or row.is_braked
            or row.tombstone_version > row.deletion_horizon
        )
    )
    if live or early:
        return Confirmation(live_ids=live, early_ids=early)
    if rows:
        _forget(tx, rows)
        sizes: dict[int, list[int]] = {}
        for row in rows:
            sizes.setdefault(row.dataset_key, []).append(row.compressed_size_bytes)
        vacuums.credit(tx, "segments", sizes)
    return Confirmation(deleted=len(rows))


def forget_missing(tx: Transaction, segment_ids: Sequence[UUID], horizon: int) -> None:
    """Forget buried segments whose objects went before the database came back from a backup.

    Versions below the horizon expire: those that show the segments cannot be read.
    """
    rows = tx.execute(_LOCK, {"ids": list(segment_ids), "grace": 0}).all()
    if rows:
        keys = sorted({row.dataset_key for row in rows})
        tx.execute(_RAISE_HORIZON, [{"dataset": key, "horizon": horizon} for key in keys])
        _forget(tx, rows)


def remove_rows(tx: Transaction, segment_ids: Sequence[UUID]) -> None:
    """Remove the rows of segments; their lineage is remembered while a successor lives."""
    tx.execute(_REMOVE, {"ids": list(segment_ids)})
    tx.execute(_END_LINEAGE, {"ids": list(segment_ids)})


def _forget(tx: Transaction, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    ids = [row.id for row in rows]
    object_keys.mark_deleted(tx, [join_key(row.prefix, row.object_name) for row in rows])
    tx.execute(_RELEASE_REPLACEMENTS, {"ids": ids})
    remove_rows(tx, ids)
    stats.add(tx, [stats.Change(row.dataset_key, all_segments=-1) for row in rows])
