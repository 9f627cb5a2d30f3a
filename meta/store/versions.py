"""The commit-ordered counter: segment versions, tombstone versions, response_seq."""

from typing import NewType

from sqlalchemy import text

from meta.store import timelines
from meta.store.engine import Conflict, TimelineChanged, Transaction, run_in
from meta.store.timelines import IS_CURRENT

Version = NewType("Version", int)

ALLOCATE = f"UPDATE meta_state SET version = version + 1 WHERE {IS_CURRENT} RETURNING version"  # noqa: S608
_ALLOCATE = text(ALLOCATE)
_CURRENT = text(f"SELECT version, {IS_CURRENT} IS TRUE AS is_current FROM meta_state")  # noqa: S608
_TAKE = text(
    f"UPDATE meta_state SET version = :version WHERE version < :version AND {IS_CURRENT}"  # noqa: S608
)
IS_LOST = (
    "EXISTS (SELECT FROM meta_state WHERE gap_start < {version} AND {version} < gap_end)"
    " OR EXISTS (SELECT FROM version_gaps WHERE gap_start < {version} AND {version} < gap_end)"
)
_IS_LOST = text("SELECT " + IS_LOST.format(version=":version"))


def allocate(tx: Transaction) -> Version:
    """Draw the next version, as the last lock of the transaction.

    The row stays locked until the commit is visible, so v + 1 is drawn only once v can be read.
    Every other writer waits on it: nothing but the commit may follow except writes of own rows.
    """
    version = tx.execute(_ALLOCATE).scalar_one_or_none()
    if version is None:
        timelines.check(run_in(tx))
        version = tx.execute(_ALLOCATE).scalar_one()
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
        raise Conflict("40001")


def current(tx: Transaction) -> Version:
    """Read the version that labels this transaction's snapshot. Raises TimelineChanged."""
    row = tx.execute(_CURRENT).one()
    if not row.is_current:
        raise TimelineChanged
    return Version(row.version)


def is_lost(tx: Transaction, version: int) -> bool:
    """True for a version that a failover or restore jumped over; it may have been handed out."""
    return bool(tx.execute(_IS_LOST, {"version": version}).scalar_one())
