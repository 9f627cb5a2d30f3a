"""Timelines: the history of the database that the counter belongs to.

A promotion of a standby or a restore begins another history, possibly from an older state. Were the
counter to continue there, it would give versions out a second time. So whatever draws or reads the
counter compares the server's identifier and timeline with the stored ones in the same statement:
a check at connect time says nothing of a connection that a promotion or a pooler outlives.
"""

from collections.abc import Callable
from typing import Any

from meta.errors import Unavailable

# Every version handed out before a failover stays below the counter after it.
VERSION_JUMP = 2**32
IN_RECOVERY = (
    "the database server is in recovery: connect to the primary (target_session_attrs=primary)"
)

# A server in recovery has no timeline of its own yet; its comparison is never true.
_TIMELINE = (
    "CASE WHEN pg_is_in_recovery() THEN NULL"
    " ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END"
)
_IDENTIFIER = "(SELECT system_identifier::text FROM pg_control_system())"
# True if meta_state belongs to the history of this server.
IS_CURRENT = f"(timeline = (SELECT {_TIMELINE}) AND system_identifier = {_IDENTIFIER})"

# Changes whenever the database may have been replaced by another state of itself: by a start of
# Postgres, as after a copied folder, a snapshot or a recovery; and by another file of the table, as
# in a copied database, or after a `pg_restore` into the running server.
INCARNATION = (
    "concat_ws('/', extract(epoch FROM pg_postmaster_start_time()),"
    " pg_relation_filepath('meta_state'))"
)
# True if versions may be drawn: at once if the database has no witness, otherwise below the
# ceiling, by the incarnation that was compared with the witness.
HAS_ROOM = f"(ceiling IS NULL OR version < ceiling AND incarnation = {INCARNATION})"
CAN_DRAW = f"({IS_CURRENT} AND {HAS_ROOM})"
# True while a locked dataset is not known after a restore: the bucket may have babies of it.
IS_LOCK_AWAITED = (
    "EXISTS (SELECT FROM resource_locks WHERE is_awaited AND coalesce(ends_at > now(), true))"
)
# True if nothing is deleted: until an operator has looked, or until the comparison.
IS_HELD = (
    f"(deletion_held OR {IS_CURRENT} IS NOT TRUE OR {IS_LOCK_AWAITED}"
    f" OR ceiling IS NOT NULL AND incarnation IS DISTINCT FROM {INCARNATION})"
)

_IS_IN_RECOVERY = "SELECT pg_is_in_recovery()"
_HAS_TABLE = "SELECT to_regclass('{}') IS NOT NULL"
_COMPARE = f"SELECT {IS_CURRENT} IS TRUE, system_identifier IS NULL FROM meta_state"  # noqa: S608
_IS_COMPARED = (
    f"SELECT ceiling IS NULL OR incarnation IS NOT DISTINCT FROM {INCARNATION} FROM meta_state"  # noqa: S608
)
_COMPARE_LOCKED = _COMPARE + " FOR UPDATE"
_ADOPT = f"UPDATE meta_state SET timeline = {_TIMELINE}, system_identifier = {_IDENTIFIER}"  # noqa: S608
# The row holds the newest gap; the earlier ones are kept in their own column.
KEEP_GAP = (
    "INSERT INTO version_gaps (gap_start, gap_end)"
    " SELECT gap_start, gap_end FROM meta_state WHERE gap_end > 0 ON CONFLICT DO NOTHING"
)
_JUMP = (
    f"{_ADOPT}, gap_start = version, gap_end = version + {VERSION_JUMP},"
    f" version = version + {VERSION_JUMP}, deletion_held = true"
)
# Without a witness the extent of the loss is unknown: it counts as a restore from now on.
_NOTE_RESTORED = (
    "UPDATE witness_state SET restored_at = clock_timestamp(),"
    " restored_reason = 'the timeline of Postgres changed, and there was no witness to compare'"
    " WHERE history IS NULL"
)

# Runs one statement and returns its first row, None if it returns none.
Execute = Callable[[str], Any]


def check(execute: Execute) -> None:
    """Make sure that the counter belongs to the history of this server, in a write transaction.

    Raises Unavailable on a server in recovery.
    """
    if execute(_IS_IN_RECOVERY)[0]:
        raise Unavailable(IN_RECOVERY)
    # A fresh database has no table yet; the first migration makes it.
    if not execute(_HAS_TABLE.format("meta_state"))[0]:
        return
    row = execute(_COMPARE)
    if row is not None and not row[0]:
        _adopt(execute)


def is_compared(execute: Execute) -> bool:
    """True unless this incarnation of the database has to be compared with its witness."""
    row = execute(_IS_COMPARED)
    return row is None or bool(row[0])


def _adopt(execute: Execute) -> None:
    """Compare again under the row lock, which serialises adoptions, then jump."""
    is_current, is_first = execute(_COMPARE_LOCKED)
    if is_current:
        return
    if is_first:
        execute(_ADOPT)
        return
    execute(KEEP_GAP)
    execute(_NOTE_RESTORED)
    execute(_JUMP)
