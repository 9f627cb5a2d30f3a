"""The database's clock, which all ages are measured by."""

from sqlalchemy import text

from meta.store.engine import Transaction

_NOW = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000")


def now_nanos(tx: Transaction) -> int:
    """The database's time, which passes within a transaction too."""
    return int(tx.execute(_NOW).scalar_one())
