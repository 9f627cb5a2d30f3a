"""The version that a dataset had at a time, by the name that it had then."""

from meta.store.catalog import dataset_names, shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

# The newest change that is not later. A removed segment stays a row for its grace, and so does its
# removal: within the grace of now, and behind the last vacuum, nothing at or below the horizon is
# later than the time. A hidden one has no time of removal; the ledger has it. The version is one at
# which the dataset had the name, though a rename changes no segment.
_AT_TIME = scope.statement(f"""
    WITH moment AS (
      SELECT timestamptz 'epoch' + (:nanos / 1000) * interval '1 microsecond' AS at
    ), candidates AS (
      SELECT key FROM datasets
      WHERE key = ANY(ARRAY({shown_names.keys("ARRAY[cast(:name AS text)]")}))
        AND deleted_at IS NULL
    ), own_names AS (
      SELECT d.key, coalesce(v.name, d.name) AS name, v.from_version, v.to_version,
        CASE WHEN v.name IS NULL THEN d.group_id ELSE v.group_id END AS group_id,
        CASE WHEN row_number() OVER own = 1 THEN d.created_at ELSE v.from_time END AS from_time,
        lead(v.from_time) OVER own AS to_time
      FROM candidates c JOIN datasets d ON d.key = c.key
        JOIN dataset_visibility v ON v.dataset_key = d.key
      WHERE (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(:visible))
        AND d.tenant_key = :naming_tenant
      WINDOW own AS (PARTITION BY v.dataset_key ORDER BY v.from_version)
    ), group_names AS (
      SELECT g.id, coalesce(h.name, g.name) AS name, h.from_version, h.to_version, h.from_time,
        lead(h.from_time) OVER (PARTITION BY g.id ORDER BY h.from_version) AS to_time
      FROM groups g JOIN group_visibility h ON h.group_id = g.id
      WHERE g.id IN (SELECT group_id FROM own_names)
    ), names AS (
      -- greatest and least leave nulls out.
      SELECT o.key, coalesce(g.name || '/', '') || o.name AS name,
        greatest(o.from_version, g.from_version) AS from_version,
        least(o.to_version, g.to_version) AS to_version,
        greatest(o.from_time, g.from_time) AS from_time, least(o.to_time, g.to_time) AS to_time
      FROM own_names o LEFT JOIN group_names g ON g.id = o.group_id
        AND (o.to_version IS NULL OR g.from_version < o.to_version)
        AND (g.to_version IS NULL OR o.from_version < g.to_version)
    ), named AS (
      SELECT n.* FROM names n CROSS JOIN moment m
      WHERE n.name = :name AND coalesce(n.from_time <= m.at, true)
        AND coalesce(n.to_time > m.at, true)
      ORDER BY n.from_time DESC NULLS LAST, n.from_version DESC LIMIT 1
    )
    SELECT least(n.to_version - 1, greatest(
      n.from_version,
      (SELECT created_version FROM segments
         WHERE dataset_key = d.key AND tombstone_version IS NULL AND created_at <= m.at
         ORDER BY created_at DESC, id DESC LIMIT 1),
      (SELECT max(CASE WHEN tombstone_at <= m.at THEN tombstone_version
                       WHEN created_at <= m.at THEN created_version END)
         FROM segments WHERE dataset_key = d.key AND tombstone_version IS NOT NULL),
      (SELECT max(l.version) FROM segments s JOIN losses l ON l.segment_id = s.id
         WHERE s.dataset_key = d.key AND s.tombstone_version IS NOT NULL AND l.lost_at <= m.at),
      CASE WHEN m.at >= greatest(d.vacuum_before,
                                 {ago("coalesce(nullif(d.tombstone_grace_secs, 0), :grace)")})
           THEN d.deletion_horizon END))
    FROM named n JOIN datasets d ON d.key = n.key CROSS JOIN moment m
""")  # noqa: S608


def version_at(tx: Transaction, dataset_name: str, nanos: int, grace_secs: float) -> int:
    """Return the version that a live dataset had at a time, nanoseconds since 1970.

    It may be expired if the time is longer ago than the grace. Raises NotFound.
    """
    values = {
        "name": dataset_name,
        "nanos": nanos,
        "grace": grace_secs,
        "visible": scope.visible_ids(),
    }
    version = tx.execute(_AT_TIME, values).scalar_one_or_none()
    if version is None:
        raise dataset_names.missing_at(tx, dataset_name, nanos)
    return int(version)
