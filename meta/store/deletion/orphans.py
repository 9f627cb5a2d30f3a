"""Orphans: objects that no row knows, declared garbage before they are deleted."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_expiry
from meta.store.segments import object_keys
from meta.store.segments.object_keys import State
from segments.keys import AttemptKey, BabyKey, MergedKey, TableKey, parse_key

_RUNNING = text(
    "SELECT id::text, attempt FROM merge_tasks WHERE id = ANY(:ids) AND state = 1"
    " AND worker_id IS NOT NULL"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_STREAMS = text(
    "SELECT id::text, deleted_offset, stopped_offset, retired_at IS NOT NULL"
    " FROM ingest_streams WHERE id = ANY(:ids)"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))


def condemn(tx: Transaction, keys: Sequence[str], *, is_dry_run: bool) -> list[str]:
    """Condemn keys without a row; returns the condemned, old and new, in the order given.

    Keys that are not of our own making, or that someone may still come back for, are left out.
    """
    parsed = {key: parse_key(key) for key in keys}
    babies = {key: name for key, name in parsed.items() if isinstance(name, BabyKey)}
    attempts = {key: name for key, name in parsed.items() if isinstance(name, AttemptKey)}
    merged = [key for key, name in parsed.items() if isinstance(name, MergedKey)]
    tables = {key: name.epoch_secs for key, name in parsed.items() if isinstance(name, TableKey)}
    # What makes a baby or an object of a table an orphan never changes back, so only segments need
    # an identity.
    garbage = _dead_babies(tx, babies) | table_expiry.orphans(tx, tables)
    garbage |= _unknown_segments(tx, merged + _abandoned(tx, attempts), is_dry_run)
    return [key for key in parsed if key in garbage]


def _unknown_segments(tx: Transaction, keys: Sequence[str], is_dry_run: bool) -> set[str]:
    if not is_dry_run:
        object_keys.condemn(tx, keys)
    known = object_keys.find(tx, keys)
    return {k for k in keys if k not in known or known[k].state is not State.REGISTERED}


def _abandoned(tx: Transaction, keys: dict[str, AttemptKey]) -> list[str]:
    """Leave out keys under the prefix of a current claim."""
    ids = [UUID(name.task_id) for name in keys.values()]
    running = {(row[0], row[1]) for row in tx.execute(_RUNNING, {"ids": ids})}
    return [key for key, name in keys.items() if (name.task_id, name.attempt) not in running]


def _dead_babies(tx: Transaction, keys: dict[str, BabyKey]) -> set[str]:
    """Babies that are reaped, lie beyond a stop, or are of a stream that is retired or unknown."""
    ids: Collection[UUID] = {UUID(name.stream_id) for name in keys.values()}
    streams = {row[0]: row[1:] for row in tx.execute(_STREAMS, {"ids": list(ids)})}
    dead = set()
    for key, name in keys.items():
        # meta makes the ids, so an unknown stream is one that retired and was forgotten.
        deleted, stopped, is_retired = streams.get(name.stream_id, (-1, None, True))
        is_beyond = stopped is not None and name.offset > stopped
        if is_retired or is_beyond or name.offset <= deleted:
            dead.add(key)
    return dead
