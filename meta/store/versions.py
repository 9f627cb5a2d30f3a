"""The commit-ordered counter: segment versions, tombstone versions, response_seq."""

from typing import NewType

from sqlalchemy import select, update

from meta.store.engine import Transaction
from meta.store.tables import meta_state

Version = NewType("Version", int)

_ALLOCATE = (
    update(meta_state).values(version=meta_state.c.version + 1).returning(meta_state.c.version)
)
_CURRENT = select(meta_state.c.version)


def allocate(tx: Transaction) -> Version:
    """Draw the next version, as the last lock of the transaction.

    The row stays locked until the commit is visible, so v + 1 is drawn only once v can be read.
    Every other writer waits on it: nothing but the commit may follow except writes of own rows.
    """
    return Version(tx.execute(_ALLOCATE).scalar_one())


def current(tx: Transaction) -> Version:
    """Read the version that labels this transaction's snapshot."""
    return Version(tx.execute(_CURRENT).scalar_one())
