"""Ends of access tokens: the nearest ones, and the number of tokens that are to be renewed."""

from sqlalchemy import text

from meta.store.engine.pool import Transaction

_VALID = "revoked_at IS NULL AND expires_at > now()"
_NEAREST = text(f"""
    SELECT extract(epoch FROM expires_at)::float8 FROM access_tokens
    WHERE {_VALID} ORDER BY expires_at LIMIT :most
""")  # noqa: S608
# A token of a day is replaced in the second half of the day.
_COUNT = text(f"""
    SELECT count(*) FROM access_tokens
    WHERE {_VALID} AND expires_at < now()
      + least(make_interval(secs => :secs), (expires_at - created_at) / 2)
""")  # noqa: S608


def nearest(tx: Transaction, most: int) -> list[float]:
    """Return the Unix times at which the next valid tokens end."""
    return list(tx.execute(_NEAREST, {"most": most}).scalars())


def count_due(tx: Transaction, secs: float) -> int:
    """Count the valid tokens that end within a time, or half of their validity if that is less."""
    return int(tx.execute(_COUNT, {"secs": secs}).scalar_one())
