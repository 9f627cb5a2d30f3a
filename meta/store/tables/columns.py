"""Shared parts of the tables: a MetaData with its naming convention, and times."""

from sqlalchemy import Column, DateTime, Integer, MetaData, text
from sqlalchemy.sql import func

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_index",
    }
)


def now(name: str) -> Column[object]:
    """A moment that is the transaction's start unless it is given."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def moment(name: str, key: str | None = None) -> Column[object]:
    """A moment, null until it has come; `key` is its name in Python if that differs."""
    return Column(name, DateTime(timezone=True), key=key or name)


def tenant_key() -> Column[int]:
    """The key of the tenant that a row belongs to; 0 = `default`."""
    return Column("tenant_key", Integer, nullable=False, server_default=text("0"))
