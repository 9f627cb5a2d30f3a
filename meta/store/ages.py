"""Ages in SQL, of which a step of the database's clock or a time without a server is no part."""

# At most a minute after the last observation: a lease ends no earlier because the clock stepped.
NOW = "(SELECT least(now(), observed_at + interval '60 seconds') FROM clock_state)"
_LAST_GAP_END = "(SELECT coalesce(max(gap_end), '-infinity') FROM clock_gaps)"


def ago(secs: str) -> str:
    """The time before which everything is older than `secs`, an expression in seconds.

    The function is called only where a gap is recent enough to matter; the rest is computed once a
    statement.
    """
    plain = f"{NOW} - make_interval(secs => {secs})"
    return f"(CASE WHEN {_LAST_GAP_END} <= {plain} THEN {plain} ELSE meta_ago({secs}) END)"
