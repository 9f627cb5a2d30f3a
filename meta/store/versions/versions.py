"""The commit-ordered counter of versions, and the version that a dataset had at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NewType

from sqlalchemy import text

from meta.errors import NotFound
from meta.store.engine import continuity, dataset_scope, timelines
from meta.store.engine.pool import (
    Conflict,
    DrawRefused,
    TimelineChanged,
    Transaction,
    run_in,
)
from meta.store.engine.timelines import CAN_DRAW, HAS_ROOM, INCARNATION, IS_CURRENT
from meta.store.versions.clock import ago

Version = NewType("Version", int)

ALLOCATE = f"UPDATE meta_state SET version = version + 1 WHERE {CAN_DRAW} RETURNING version"  # noqa: S608
_ALLOCATE = text(ALLOCATE)
_CURRENT = text(f"SELECT version, {IS_CURRENT} IS TRUE AS is_current FROM meta_state")  # noqa: S608
_TAKE = text(f"""
    UPDATE meta_state SET version = :version WHERE version < :version AND {IS_CURRENT}
      AND (ceiling IS NULL OR :version <= ceiling AND incarnation = {INCARNATION})
""")  # noqa: S608
_HAS_ROOM = text(f"SELECT {HAS_ROOM} IS TRUE FROM meta_state")  # noqa: S608
_SNAPSHOT = text(f"""
    SELECT {IS_CURRENT} IS TRUE, version, extract(epoch FROM now())::bigint FROM meta_state""")  # noqa: S608
IS_LOST = (
    "EXISTS (SELECT FROM meta_state WHERE gap_start < {version} AND {version} < gap_end)"
    " OR EXISTS (SELECT FROM version_gaps WHERE gap_start < {version} AND {version} < gap_end)"
)
_IS_LOST = text("SELECT " + IS_LOST.format(version=":version"))


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """The counter and the database's time in seconds."""

    version: int
    now_secs: int


def allocate(tx: Transaction) -> Version:
    """Draw the next version, as the last lock of the transaction.

    The row stays locked until the commit is visible, so v + 1 is drawn only once v can be read.
    Every other writer waits on it: nothing but the commit may follow except writes of own rows.
    """
    return drawn_by(tx, lambda: tx.execute(_ALLOCATE).scalar_one_or_none())


def drawn_by(tx: Transaction, draw: Callable[[], int | None]) -> Version:
    """The version that a statement draws with ALLOCATE; None is drawn if it may not.

    Raises DrawRefused if the database has to be compared with its witness first.
    """
    version = draw()
    if version is None:
        timelines.check(run_in(tx))
        version = draw()
    if version is None or not continuity.note_drawn(tx.info, version):
        raise DrawRefused
    return Version(version)


def reserve(tx: Transaction, rows: int) -> Version:
    """Choose a version ahead of the counter, for rows that take long to write.

    `take` it once they are written: nobody sees them before the commit, and versions have gaps. So
    the counter is held for the commit alone, however many rows there are. A version a row is more
    than others draw in the time, each with a commit of its own.
    """
    row = tx.execute(_CURRENT).one()
    if not row.is_current:
        timelines.check(run_in(tx))
        row = tx.execute(_CURRENT).one()
    return Version(row.version + rows)


def take(tx: Transaction, version: Version) -> None:
    """Move the counter to a reserved version, as the last lock of the transaction.

    Raises Conflict if the counter has passed it: the transaction is run again.
    """
    if tx.execute(_TAKE, {"version": version}).rowcount == 0:
        if not tx.execute(_HAS_ROOM).scalar_one():
            raise DrawRefused
        raise Conflict("40001")
    if not continuity.note_drawn(tx.info, version):
        raise DrawRefused


def current(tx: Transaction) -> Version:
    """Read the version that labels this transaction's snapshot. Raises TimelineChanged."""
    row = tx.execute(_CURRENT).one()
    if not row.is_current:
        raise TimelineChanged
    return Version(row.version)


def snapshot(tx: Transaction) -> CounterSnapshot:
    """The version and time of this transaction's snapshot. Raises TimelineChanged."""
    is_current, version, now_secs = tx.execute(_SNAPSHOT).one()
    if not is_current:
        raise TimelineChanged
    return CounterSnapshot(version, now_secs)


def is_lost(tx: Transaction, version: int) -> bool:
    """True for a version that a failover or restore jumped over; it may have been handed out."""
    return bool(tx.execute(_IS_LOST, {"version": version}).scalar_one())


# The newest change that is not later. A removed segment stays a row for its grace, and so does its
# removal: within the grace of now, nothing at or below the horizon is later than the time. A hidden
# one has no time of removal; the ledger has it.
_AT_TIME = text(f"""
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


def at_time(tx: Transaction, dataset_name: str, nanos: int, grace_secs: float) -> int:
    """Return the version that a live dataset had at a time, nanoseconds since 1970.

    It may be expired if the time is longer ago than the grace. Raises NotFound.
    """
    values = {
        "name": dataset_name,
        "nanos": nanos,
        "grace": grace_secs,
        "visible": dataset_scope.visible_ids(),
    }
    row = tx.execute(_AT_TIME, values).one_or_none()
    if row is None:
        raise NotFound("there is no such dataset", dataset_name=dataset_name)
    if not row.is_there:
        raise NotFound("the dataset did not exist yet at this time", as_of_nanos=nanos)
    return int(row[0])
