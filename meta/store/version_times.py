"""Versions by time: which one a dataset had at a moment."""

from sqlalchemy import text

from meta.errors import NotFound
from meta.store import dataset_scope
from meta.store.ages import ago
from meta.store.engine import Transaction

# The newest change that is not later. A removed segment stays a row for its grace, and so does its
# removal: within the grace of now, nothing at or below the horizon is later than the time. A hidden
# one has no time of removal; the ledger has it.
_FIND = text(f"""
    WITH moment AS (
      SELECT timestamptz 'epoch' + (:nanos / 1000) * interval '1 microsecond' AS at)
    SELECT greatest(
      (SELECT min(from_version) FROM dataset_visibility v WHERE v.dataset_key = d.key),
      (SELECT created_version FROM segments
         WHERE dataset_key = d.key AND tombstone_version IS NULL AND created_at <= m.at
         ORDER BY created_at DESC, id DESC LIMIT 1),
      (SELECT max(CASE WHEN tombstone_at <= m.at THEN tombstone_version
                       WHEN created_at <= m.at THEN created_version END)
         FROM segments WHERE dataset_key = d.key AND tombstone_version IS NOT NULL),
      (SELECT max(l.version) FROM segments s JOIN losses l ON l.segment_id = s.id
         WHERE s.dataset_key = d.key AND s.tombstone_version IS NOT NULL AND l.lost_at <= m.at),
      CASE WHEN m.at >= {ago("coalesce(nullif(d.tombstone_grace_secs, 0), :grace)")}
           THEN d.deletion_horizon END,
      0), d.created_at <= m.at AS is_there
    FROM datasets d CROSS JOIN moment m
    WHERE d.name = :name AND d.deleted_at IS NULL
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(:visible))
""")  # noqa: S608


def find(tx: Transaction, dataset_name: str, nanos: int, grace_secs: float) -> int:
    """Return the version that a live dataset had at a time, nanoseconds since 1970.

    It may be expired where the time is longer ago than the grace. Raises NotFound.
    """
    values = {
        "name": dataset_name,
        "nanos": nanos,
        "grace": grace_secs,
        "visible": dataset_scope.visible_ids(),
    }
    row = tx.execute(_FIND, values).one_or_none()
    if row is None:
        raise NotFound("there is no such dataset", dataset_name=dataset_name)
    if not row.is_there:
        raise NotFound("the dataset did not exist yet at this time", as_of_nanos=nanos)
    return int(row[0])
