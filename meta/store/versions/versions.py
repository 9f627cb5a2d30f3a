"""The commit-ordered counter of versions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NewType

from sqlalchemy import text

from meta.store.engine import continuity, timelines
from meta.store.engine.pool import (
    Conflict,
    DrawRefused,
    TimelineChanged,
    Transaction,
    run_in,
)
from meta.store.engine.timelines import CAN_DRAW, HAS_ROOM, INCARNATION, IS_CURRENT

Version = NewType("Version", int)

ALLOCATE = f"UPDATE meta_state SET version = version + 1 WHERE {CAN_DRAW} RETURNING version"  # noqa: S608
_ALLOCATE = text(ALLOCATE)
_CURRENT = text(f"""
    SELECT version, {IS_CURRENT} IS TRUE AS is_current,
      extract(epoch FROM now())::bigint AS now_secs
    FROM meta_state
""")  # noqa: S608
_TAKE = text(f"""
    UPDATE meta_state SET version = :version WHERE version < :version AND {IS_CURRENT}
      AND (ceiling IS NULL OR :version <= ceiling AND incarnation = {INCARNATION})
""")  # noqa: S608
_HAS_ROOM = text(f"SELECT {HAS_ROOM} IS TRUE FROM meta_state")  # noqa: S608
IS_LOST = (
    "EXISTS (SELECT FROM meta_state WHERE gap_start < {version} AND {version} < gap_end)"
    " OR EXISTS (SELECT FROM version_gaps WHERE gap_start < {version} AND {version} < gap_end)"
)
_IS_LOST = text("SELECT " + IS_LOST.format(version=":version"))


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """The counter and the database's time in seconds."""

    version: Version
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
    the counter is held for the commit only, however many rows there are. Reserving one version per
    row outruns concurrent writers, whose commits draw one each.
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


def check_room(tx: Transaction) -> None:
    """Raise DrawRefused if no version can be drawn, as before a restored database is noticed."""
    if not tx.execute(_HAS_ROOM).scalar_one():
        raise DrawRefused


def current(tx: Transaction) -> Version:
    """Read the version that labels this transaction's snapshot. Raises TimelineChanged."""
    return snapshot(tx).version


def snapshot(tx: Transaction) -> CounterSnapshot:
    """The version and time of this transaction's snapshot. Raises TimelineChanged."""
    row = tx.execute(_CURRENT).one()
    if not row.is_current:
        raise TimelineChanged
    return CounterSnapshot(Version(row.version), row.now_secs)


def is_lost(tx: Transaction, version: int) -> bool:
    """True for a version that a failover or restore jumped over; it may have been handed out."""
    return bool(tx.execute(_IS_LOST, {"version": version}).scalar_one())
