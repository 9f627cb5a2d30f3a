"""Vacuums: requests to expire versions older than a time, and to delete what only they show.

A vacuum lowers what is due (`due`) and reopens the table metadata of its datasets; janitors delete
by the paths of every day, so pins, brakes, holds and hidden segments keep what they keep. All is in
rows: a request that is repeated, and a janitor that died, begin again where they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import NameTaken, QuotaExceeded
from meta.store.access import audit
from meta.store.deletion import vacuum_plans
from meta.store.deletion.vacuum_plans import DatasetPlan, VacuumPlan
from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import IS_HELD
from meta.store.iceberg import table_expiry
from meta.store.pins import pins
from meta.store.versions.clock import ago

OPEN_MAX = 100
KEPT_SECS = 2_592_000
UNPLANNED_SECS = 86_400
KEPT_MAX = 1_000
JANITOR = "janitor"


@dataclass(frozen=True, slots=True)
class Vacuum:
    """A request and what was deleted since, in bytes and objects; times in nanoseconds, 0 = none.

    `dataset_id` is None for all datasets.
    """

    id: UUID
    dataset_id: UUID | None
    older_than_secs: int
    requested_at_nanos: int
    taken_at_nanos: int
    finished_at_nanos: int
    segments: int
    segment_bytes: int
    table_objects: int
    table_bytes: int
    orphans: int
    orphan_bytes: int
    orphans_left: int


@dataclass(frozen=True, slots=True)
class Orphans:
    """Orphans that a janitor deleted, and those above the bound of one sweep."""

    deleted: int
    deleted_bytes: int
    remaining: int


def _nanos(column: str) -> str:
    return f"coalesce((extract(epoch FROM v.{column}) * 1000000)::bigint * 1000, 0)"


_COLUMNS = f"""
    v.id, d.id, v.older_than_secs, {_nanos("requested_at")}, {_nanos("taken_at")},
    {_nanos("finished_at")}, v.segments, v.segment_bytes, v.table_objects, v.table_bytes,
    v.orphans, v.orphan_bytes, v.orphans_left
"""
_FIND = text(f"""
    SELECT {_COLUMNS} FROM vacuums v LEFT JOIN datasets d ON d.key = v.dataset_key
    WHERE v.id = :id
""")  # noqa: S608
# One whose caller died before it came to the last dataset is forgotten after a day.
_PRUNE = text(f"""
    DELETE FROM vacuums WHERE requested_at < {ago(str(KEPT_SECS))}
      AND finished_at IS NOT NULL
      OR id IN (SELECT id FROM vacuums WHERE finished_at IS NOT NULL
                ORDER BY requested_at DESC, id OFFSET {KEPT_MAX})
      OR planned_at IS NULL AND requested_at < {ago(str(UNPLANNED_SECS))}
""")  # noqa: S608
_NUM_OPEN = text("SELECT count(*) FROM vacuums WHERE finished_at IS NULL")
_INSERT = text("""
    INSERT INTO vacuums (id, dataset_key, older_than_secs) VALUES (:id, :only, :older_than)
""")
_SAME = text("""
    SELECT (dataset_key, older_than_secs) IS NOT DISTINCT FROM
           (cast(:only AS integer), cast(:older_than AS bigint)) AS is_same
    FROM vacuums WHERE id = :id FOR UPDATE
""")
_IS_BUSY = text("""
    SELECT EXISTS (SELECT FROM vacuums WHERE finished_at IS NULL AND taken_at IS NOT NULL)
""")
_PLANNED = text("""
    UPDATE vacuums SET planned_at = clock_timestamp() WHERE id = :id AND planned_at IS NULL
""")
_TAKE = text(f"""
    UPDATE vacuums v SET taken_at = clock_timestamp()
    FROM (SELECT o.id AS vacuum_id, d.id
          FROM vacuums o LEFT JOIN datasets d ON d.key = o.dataset_key
          WHERE o.finished_at IS NULL AND o.planned_at IS NOT NULL
            AND NOT (SELECT {IS_HELD} FROM meta_state)
          ORDER BY o.requested_at, o.id FOR UPDATE OF o SKIP LOCKED) d
    WHERE v.id = d.vacuum_id
    RETURNING {_COLUMNS}
""")  # noqa: S608
_LIST_OPEN = text(f"""
    SELECT {_COLUMNS} FROM vacuums v LEFT JOIN datasets d ON d.key = v.dataset_key
    WHERE v.finished_at IS NULL AND v.planned_at IS NOT NULL
    ORDER BY v.requested_at, v.id LIMIT {OPEN_MAX}
""")  # noqa: S608
_HAS_OPEN = text(
    "SELECT EXISTS (SELECT FROM vacuums WHERE finished_at IS NULL AND planned_at IS NOT NULL)"
)
_FINISH = text("""
    UPDATE vacuums SET finished_at = clock_timestamp(), orphans = :orphans,
      orphan_bytes = :orphan_bytes, orphans_left = :orphans_left
    WHERE id = :id AND finished_at IS NULL
""")
_CREDIT = {
    kind: text(f"""
        UPDATE vacuums SET {kind} = {kind} + :objects, {size} = {size} + :size_bytes
        WHERE finished_at IS NULL AND (dataset_key IS NULL OR dataset_key = :key)
    """)  # noqa: S608
    for kind, size in (("segments", "segment_bytes"), ("table_objects", "table_bytes"))
}
_SEEN = text("""
    SELECT coalesce(extract(epoch FROM now() - max(last_seen_at))::bigint, -1)
    FROM workers WHERE id = :janitor
""")


def start(tx: Transaction, vacuum_id: UUID, plan: VacuumPlan) -> list[DatasetPlan]:
    """Expire the versions of a page of datasets, and make due what only they show.

    With the last page the vacuum is handed to janitors. Raises QuotaExceeded, NameTaken.
    """
    keys = vacuum_plans.keys(tx, plan)
    # Under the lock no pin can be taken at a version that expires here.
    pins.lock_horizons(tx, keys)
    vacuum_plans.expire(tx, keys, plan)
    table_expiry.reopen(tx, keys)
    _note(tx, vacuum_id, plan)
    planned = vacuum_plans.read(tx, keys, plan)
    if not plan.has_more(keys):
        tx.execute(_PLANNED, {"id": vacuum_id})
    return planned


def find(tx: Transaction, vacuum_id: UUID) -> Vacuum | None:
    """The vacuum with this id; finished ones are kept for 30 days."""
    row = tx.execute(_FIND, {"id": vacuum_id}).one_or_none()
    return None if row is None else Vacuum(*row)


def list_open(tx: Transaction) -> list[Vacuum]:
    """The vacuums that wait for a janitor, or for their end, the first ones first."""
    return [Vacuum(*row) for row in tx.execute(_LIST_OPEN)]


def has_open(tx: Transaction) -> bool:
    """Return true if a vacuum waits for a janitor, or for its end."""
    return bool(tx.execute(_HAS_OPEN).scalar_one())


def take(tx: Transaction) -> list[Vacuum]:
    """The vacuums that are not finished, from now on carried out, those of a dead janitor too."""
    rows = tx.execute(_TAKE).all()
    return sorted((Vacuum(*row) for row in rows), key=lambda v: (v.requested_at_nanos, v.id))


def finish(tx: Transaction, vacuum_id: UUID, orphans: Orphans) -> bool:
    """Note that a janitor has deleted all that it may; false if it was finished."""
    values = {
        "id": vacuum_id,
        "orphans": orphans.deleted,
        "orphan_bytes": orphans.deleted_bytes,
        "orphans_left": orphans.remaining,
    }
    return tx.execute(_FINISH, values).rowcount > 0


def credit(tx: Transaction, kind: str, deleted: Mapping[int, Sequence[int]]) -> None:
    """Count deleted objects, sizes by dataset key, for the vacuums that run."""
    for key, sizes in sorted(deleted.items()):
        tx.execute(_CREDIT[kind], {"key": key, "objects": len(sizes), "size_bytes": sum(sizes)})


def is_busy(tx: Transaction) -> bool:
    """Return true if a janitor carries out a vacuum."""
    return bool(tx.execute(_IS_BUSY).scalar_one())


def janitor_seen_secs(tx: Transaction) -> int:
    """Seconds since a janitor last asked for its configuration, -1 if none did for long."""
    return int(tx.execute(_SEEN, {"janitor": JANITOR}).scalar_one())


def _note(tx: Transaction, vacuum_id: UUID, plan: VacuumPlan) -> None:
    """Write the row of a vacuum, unless an earlier page or call did."""
    values = {"id": vacuum_id, "only": plan.only, "older_than": plan.older_than_secs}
    row = tx.execute(_SAME, values).one_or_none()
    if row is not None:
        if not row.is_same:
            raise NameTaken("another vacuum has this id", vacuum_id=vacuum_id)
        return
    tx.execute(_PRUNE)
    if tx.execute(_NUM_OPEN).scalar_one() >= OPEN_MAX:
        raise QuotaExceeded(f"{OPEN_MAX} vacuums are not finished", limit=OPEN_MAX)
    tx.execute(_INSERT, values)
    audit.note(tx, "VacuumDatasets", vacuum_id, f"older than {plan.older_than_secs} s")
