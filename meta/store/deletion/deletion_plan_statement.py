"""The statement of plans of deletion: the rules of the deletion, asked for each hour to come.

    created_at, end_ns --retention-->   tombstoned --grace--> due: the object may go
    deleted_at --grace of datasets-->   tombstoned --grace--> due

Holds are those of today: no pin is renewed, no lock gets another end, no brake is released.
"""

from enum import IntEnum

from meta.store.catalog import shown_names
from meta.store.deletion.baselines import is_expected
from meta.store.deletion.due import GRACE_SECS, HAS_SUCCESSOR, ended_before, is_due
from meta.store.deletion.holds import IS_BRAKED, IS_HIDDEN, is_holder
from meta.store.engine import scope
from meta.store.locks.held_datasets import AFTER_SECS, is_locked, is_suspended
from meta.store.versions.clock import NOW, ago

HOURS_MAX = 168
# The hour of all that falls due after them.
LATER = HOURS_MAX + 1


class DeletionCause(IntEnum):
    """Reason why segments fall due, as in the proto."""

    CREATED_RETENTION = 1
    EVENT_RETENTION = 2
    RETENTION = 3
    REPLACED = 4
    EXPIRED = 5
    DELETED_DATASET = 6
    VACUUM = 7


class DeletionObstacle(IntEnum):
    """Reason why segments stay though they fall due, as in the proto."""

    PIN = 1
    LOCK = 2
    BRAKE = 3
    HIDDEN = 4
    KEPT_FILES = 5
    SUSPENDED = 6
    BACKUP = 7


_HOURS = f"FROM generate_series(0, {HOURS_MAX}) h ORDER BY h"
# The hour of a row: a time before `limits[h]` is past its age in h hours. `d` is as in the rules.
_BEFORE = f"""
    WITH d AS MATERIALIZED (
      SELECT d.key, d.tenant_key, d.deleted_at, d.purged_at, d.kept_files, d.hold_ends_at,
        d.vacuum_before, d.vacuum_version, d.tombstone_grace_secs,
        cast({GRACE_SECS} AS float8) AS grace,
        nullif(d.created_retention_secs, 0) AS created_secs,
        nullif(d.event_retention_secs, 0) AS event_secs,
        coalesce(t.live_segments, 0) AS live_segments,
        coalesce(t.live_compressed_size_bytes, 0) AS live_bytes,
        EXISTS (SELECT FROM pins p WHERE p.dataset_key = d.key) AS has_pins
      FROM datasets d LEFT JOIN dataset_stats t ON t.dataset_key = d.key
      WHERE cast(:only AS integer) IS NULL OR d.key = :only),
    ages AS MATERIALIZED (
      SELECT a.secs, ARRAY(SELECT {ago("a.secs - h * 3600")} {_HOURS}) AS limits,
        ARRAY(SELECT {ended_before("a.secs - h * 3600")} {_HOURS}) AS end_limits
      FROM (SELECT DISTINCT unnest(ARRAY[d.grace, d.created_secs + d.grace, d.event_secs + d.grace,
              CASE WHEN d.deleted_at IS NOT NULL THEN :dataset_grace + d.grace END]) AS secs
            FROM d) a
      WHERE a.secs IS NOT NULL),
"""  # noqa: S608
# The hour and the lineage of a segment are looked up once a row, and pins where there are any.
_TOMBSTONED = f"""
    SELECT s.key, s.hour,
      CASE WHEN s.is_vacuumed THEN {DeletionCause.VACUUM:d}
           WHEN s.has_successor THEN {DeletionCause.REPLACED:d}
           ELSE {DeletionCause.EXPIRED:d} END AS cause,
      false AS is_live, s.has_successor, s.is_hidden, s.is_braked,
      CASE WHEN s.has_pins THEN (
        SELECT p.id FROM pins p WHERE {is_holder(" + make_interval(hours => s.hour)")}
        ORDER BY p.expires_at DESC, p.id LIMIT 1) END AS pin_id,
      CASE WHEN (SELECT EXISTS (SELECT FROM backups)) THEN (
        SELECT k.id FROM backups k WHERE s.created_version <= k.version
          AND k.version < s.tombstone_version
          AND k.ends_at > {NOW} + make_interval(hours => s.hour)
        ORDER BY k.ends_at DESC, k.id LIMIT 1) END AS backup_id,
      s.compressed_size_bytes
    FROM (
      SELECT d.key, d.has_pins, s.dataset_key, s.created_version, s.tombstone_version,
        s.compressed_size_bytes,
        CASE WHEN {is_due()} THEN 0 ELSE width_bucket(s.tombstone_at, g.limits) END AS hour,
        s.tombstone_at >= g.limits[1] AND {is_due()} AS is_vacuumed,
        {HAS_SUCCESSOR} AS has_successor, {IS_HIDDEN} AS is_hidden, {IS_BRAKED} AS is_braked
      FROM d JOIN ages g ON g.secs = d.grace
        LEFT JOIN deletion_brakes b ON b.dataset_key = d.key
        JOIN segments s ON s.dataset_key = d.key AND s.tombstone_version IS NOT NULL
      OFFSET 0) s
"""  # noqa: S608
# A segment that expired is tombstoned from now on, and then has its grace.
_TOMBSTONED_NOW = f"width_bucket({NOW}, g.limits)"


def _expiring(retention: str, segments: str) -> str:
    """Live segments that a retention expires so that they are due within the hours.

    `retention` is the alias of its ages: the segments of datasets without it are not even read.
    """
    created, event = ("JOIN" if alias == retention else "LEFT JOIN" for alias in "ce")
    return f"""
    SELECT d.key, s.hour, s.cause, true, false, false,
      b.braked_at IS NOT NULL AND NOT {is_expected(" - s.hour * 3600")}, NULL::uuid, NULL::uuid,
      s.compressed_size_bytes
    FROM d JOIN ages g ON g.secs = d.grace
      {created} ages c ON c.secs = d.created_secs + d.grace
      {event} ages e ON e.secs = d.event_secs + d.grace
      LEFT JOIN deletion_brakes b ON b.dataset_key = d.key
    CROSS JOIN LATERAL (
      SELECT s.dataset_key, s.created_at, s.end_ns, s.compressed_size_bytes,
        CASE WHEN o.created_hour <= o.event_hour THEN {DeletionCause.CREATED_RETENTION:d}
             ELSE {DeletionCause.EVENT_RETENTION:d} END AS cause,
        greatest(least(o.created_hour, o.event_hour), {_TOMBSTONED_NOW}) AS hour
      FROM segments s CROSS JOIN LATERAL (
        SELECT coalesce(width_bucket(s.created_at, c.limits), {LATER}) AS created_hour,
               coalesce(width_bucket(s.end_ns, e.end_limits), {LATER}) AS event_hour) o
      WHERE s.dataset_key = d.key AND s.tombstone_version IS NULL AND {segments}) s
    WHERE d.deleted_at IS NULL
"""  # noqa: S608


_LAST = HOURS_MAX + 1
_BY_CREATION = _expiring("c", f"s.created_at < c.limits[{_LAST}]")
_BY_EVENTS = _expiring(
    "e", f"s.end_ns < e.end_limits[{_LAST}] AND coalesce(s.created_at >= c.limits[{_LAST}], true)"
)
# Of live segments that expire later, and of those of deleted datasets, the counters say enough.
_COUNTED = f"""
    SELECT d.key, {LATER} AS hour,
      CASE WHEN d.event_secs IS NULL THEN {DeletionCause.CREATED_RETENTION:d}
           WHEN d.created_secs IS NULL THEN {DeletionCause.EVENT_RETENTION:d}
           ELSE {DeletionCause.RETENTION:d} END AS cause,
      true AS is_live, false AS has_successor, false AS is_hidden, false AS is_braked,
      NULL::uuid AS pin_id, NULL::uuid AS backup_id,
      d.live_segments - coalesce(w.segments, 0) AS segments,
      greatest(d.live_bytes - coalesce(w.size_bytes, 0), 0) AS size_bytes
    FROM d LEFT JOIN (
      SELECT key, sum(segments) AS segments, sum(size_bytes) AS size_bytes FROM looked_at
      WHERE is_live GROUP BY key) w ON w.key = d.key
    WHERE d.deleted_at IS NULL AND (d.created_secs > 0 OR d.event_secs > 0)
    UNION ALL
    SELECT d.key, greatest(CASE WHEN d.purged_at IS NULL THEN width_bucket(d.deleted_at, x.limits)
                           END, {_TOMBSTONED_NOW}),
      {DeletionCause.DELETED_DATASET:d}, true, false, false, false, NULL, NULL,
      d.live_segments, d.live_bytes
    FROM d JOIN ages g ON g.secs = d.grace JOIN ages x ON x.secs = :dataset_grace + d.grace
    WHERE d.deleted_at IS NOT NULL
"""  # noqa: S608
# A live segment of a locked dataset is not even tombstoned.
_AHEAD = " - (a.hour * 3600 - CASE WHEN a.is_live THEN d.grace ELSE 0 END)"
PLAN = scope.statement(f"""
    {_BEFORE}
    looked_at AS MATERIALIZED (
      SELECT key, hour, cause, is_live, has_successor, is_hidden, is_braked, pin_id,
        backup_id, count(*) AS segments, sum(compressed_size_bytes) AS size_bytes
      FROM ({_TOMBSTONED} UNION ALL {_BY_CREATION} UNION ALL {_BY_EVENTS}) s
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9),
    judged AS (
      SELECT a.*, CASE
        WHEN a.is_hidden THEN {DeletionObstacle.HIDDEN:d}
        WHEN a.cause = {DeletionCause.DELETED_DATASET:d} AND d.kept_files <> 0
          THEN {DeletionObstacle.KEPT_FILES:d}
        WHEN a.pin_id IS NOT NULL THEN {DeletionObstacle.PIN:d}
        WHEN a.backup_id IS NOT NULL THEN {DeletionObstacle.BACKUP:d}
        WHEN a.is_braked THEN {DeletionObstacle.BRAKE:d}
        WHEN NOT a.has_successor AND {is_locked("d", _AHEAD)} THEN {DeletionObstacle.LOCK:d}
        WHEN NOT a.has_successor AND {is_suspended("d")} THEN {DeletionObstacle.SUSPENDED:d}
        ELSE 0 END AS obstacle
      FROM (SELECT * FROM looked_at UNION ALL {_COUNTED}) a JOIN d ON d.key = a.key
      WHERE a.segments > 0),
    summed AS MATERIALIZED (
      SELECT key, obstacle, CASE WHEN obstacle = 0 THEN hour ELSE 0 END AS hour,
        CASE WHEN obstacle = 0 THEN cause ELSE 0 END AS cause,
        CASE WHEN obstacle = {DeletionObstacle.PIN:d} THEN pin_id
             WHEN obstacle = {DeletionObstacle.BACKUP:d} THEN backup_id END AS holder_id,
        sum(segments)::bigint AS segments, sum(size_bytes)::bigint AS size_bytes
      FROM judged GROUP BY 1, 2, 3, 4, 5),
    ranked AS (
      SELECT *, row_number() OVER (PARTITION BY obstacle > 0
        ORDER BY hour, obstacle <> {DeletionObstacle.BRAKE:d}, size_bytes DESC, key, obstacle,
          cause, holder_id) AS rank FROM summed)
    SELECT rank, obstacle, hour, cause, d.id, {shown_names.of("d")} AS name, segments, size_bytes,
      coalesce(p.owner, l.locked_by, k.id::text, '') AS holder,
      coalesce(p.principal, '') AS principal,
      coalesce(p.version, k.version, 0) AS version, coalesce((extract(epoch FROM nullif(
        CASE obstacle WHEN {DeletionObstacle.PIN:d} THEN p.expires_at
          WHEN {DeletionObstacle.BACKUP:d} THEN k.ends_at
          WHEN {DeletionObstacle.LOCK:d}
          THEN d.hold_ends_at + make_interval(secs => {AFTER_SECS}) END, 'infinity'))
        * 1000000)::bigint * 1000, 0) AS until_nanos
    FROM ranked r JOIN datasets d ON d.key = r.key LEFT JOIN pins p ON p.id = r.holder_id
      LEFT JOIN backups k ON k.id = r.holder_id
      LEFT JOIN resource_locks l ON obstacle = {DeletionObstacle.LOCK:d} AND l.kind = 1
        AND l.resource_id = d.id AND l.ended_at IS NULL
    WHERE rank <= :most
    UNION ALL
    -- Rank 0: the amounts of all rows, by the last hour of each span.
    SELECT 0, CASE WHEN obstacle > 0 THEN 1 ELSE 0 END, CASE WHEN hour IN (0, {LATER}) THEN hour
      ELSE {HOURS_MAX} END, count(*)::int, NULL, '', sum(segments)::bigint, sum(size_bytes)::bigint,
      '', '', 0, 0
    FROM summed GROUP BY 2, 3
    ORDER BY 1
""")  # noqa: S608
