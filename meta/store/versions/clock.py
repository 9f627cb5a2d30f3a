"""The database's clock: its time, and ages in SQL that ignore clock steps and server downtime."""

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# Now, but at most a minute after the last observation: a clock step ends no lease early.
NOW = "(SELECT least(now(), observed_at + interval '60 seconds') FROM clock_state)"
_LAST_GAP_END = "(SELECT coalesce(max(gap_end), '-infinity') FROM clock_gaps)"


def ago(secs: str) -> str:
    """The time before which everything is older than `secs`, an expression in seconds.

    The function is called only if a gap is recent enough to matter; the rest is computed once a
    statement.
    """
    plain = f"{NOW} - make_interval(secs => {secs})"
    return f"(CASE WHEN {_LAST_GAP_END} <= {plain} THEN {plain} ELSE meta_ago({secs}) END)"


_NOW = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000")


def now_nanos(tx: Transaction) -> int:
    """The database's time, which passes within a transaction too."""
    return int(tx.execute(_NOW).scalar_one())
