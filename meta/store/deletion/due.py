"""Tombstones that are due: past their dataset's grace, or at or below a vacuumed version."""

from meta.store.versions.clock import ago

# The time before which tombstones of a dataset `d` are past its own grace, or the server's.
GRACE_BEFORE = ago("coalesce(nullif(d.tombstone_grace_secs, 0), :grace)")


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
