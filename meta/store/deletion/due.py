"""Tombstones that are due: past their dataset's grace, or at or below a vacuumed version."""

from meta.store.versions.clock import ago

# The seconds for which tombstones of a dataset `d` are kept: its own grace, or the server's.
GRACE_SECS = "coalesce(nullif(d.tombstone_grace_secs, 0), :grace)"
# The time before which tombstones of a dataset `d` are past its grace.
GRACE_BEFORE = ago(GRACE_SECS)
# True of a segment `s` whose records are in a successor, such as the output of a merge.
HAS_SUCCESSOR = "EXISTS (SELECT FROM segment_lineage l WHERE l.input_id = s.id)"


def ended_before(secs: str) -> str:
    """The time in nanoseconds before which all events are older than `secs`, an expression."""
    return f"(extract(epoch FROM {ago(secs)}) * 1000000000)::bigint"


def due_before(vacuum_before: str = "d.vacuum_before") -> str:
    """The time before which a tombstone of a dataset `d` may be due."""
    return f"greatest({GRACE_BEFORE}, {vacuum_before})"


def is_due(vacuum_before: str = "d.vacuum_before", vacuum_version: str = "d.vacuum_version") -> str:
    """True of a tombstoned segment `s` of a dataset `d` that is due.

    The version as well as the time, because the database's clock may step back behind a vacuum.
    """
    return (
        f"coalesce(s.tombstone_at < {GRACE_BEFORE} OR s.tombstone_at < {vacuum_before}"
        f" AND s.tombstone_version <= {vacuum_version}, false)"
    )
