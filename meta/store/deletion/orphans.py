"""Orphans: objects that no row names and that rows prove to be garbage.

The absence of a row proves nothing: after a restore the database is older than the bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.backups import kept_babies
from meta.store.deletion import kept_files, unknown_segments
from meta.store.deletion.unknown_segments import UnknownSegment
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_expiry
from meta.store.segments import object_keys
from meta.store.segments.object_keys import State
from segments.keys import AttemptKey, BabyKey, MergedKey, TableKey, parse_key

_RUNNING = text(
    "SELECT id::text, attempt FROM merge_tasks WHERE id = ANY(:ids) AND state = 1"
    " AND worker_id IS NOT NULL"
)
_STREAMS = text(
    "SELECT i.id::text, deleted_offset, stopped_offset, retired_at IS NOT NULL, committed_offset"
    " FROM ingest_streams i JOIN stream_heads h ON h.stream_id = i.id WHERE i.id = ANY(:ids)"
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The condemned of some keys, old and new, and those of which nothing is known; in order.

    `holder_keys` are the objects that hold the records of the segment that was described.
    """

    condemned: tuple[str, ...]
    unknown: tuple[str, ...]
    holder_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Keys, one of them with the facts of its footer; `is_own` if the caller wrote the objects."""

    keys: Sequence[str]
    segment: UnknownSegment | None = None
    is_own: bool = False


def condemn(tx: Transaction, question: Question, *, is_dry_run: bool) -> Judgement:
    """Condemn keys that rows prove to be garbage.

    Keys that are not of our own making, or that someone may still come back for, are in neither
    list.
    """
    keys = question.keys
    parsed = {key: parse_key(key) for key in keys}
    babies = {key: name for key, name in parsed.items() if isinstance(name, BabyKey)}
    attempts = {key: name for key, name in parsed.items() if isinstance(name, AttemptKey)}
    merged = [key for key, name in parsed.items() if isinstance(name, MergedKey)]
    tables = {key: name.epoch_secs for key, name in parsed.items() if isinstance(name, TableKey)}
    # A baby or an object of a table that is an orphan stays one, so only segments need an identity.
    dead, unknown = _judge_babies(tx, babies)
    garbage = dead | table_expiry.orphans(tx, tables)
    registered = object_keys.find(tx, merged + _abandoned(tx, attempts))
    strangers = [k for k in merged + _abandoned(tx, attempts) if k not in registered]
    # No row distinguishes the objects that stay from objects that writers left in the same folder.
    kept = kept_files.keys_among(tx, strangers)
    strangers = [key for key in strangers if key not in kept]
    proven, holder_keys = _proven(tx, question, strangers)
    if not is_dry_run:
        object_keys.condemn(tx, proven)
        # A writer may have registered one since.
        registered |= object_keys.find(tx, proven)
        proven = [key for key in proven if registered[key].state is not State.REGISTERED]
    garbage |= {k for k, identity in registered.items() if identity.state is not State.REGISTERED}
    garbage |= set(proven)
    unknown |= {key for key in strangers if key not in registered} - garbage
    return Judgement(
        tuple(key for key in parsed if key in garbage),
        tuple(key for key in parsed if key in unknown),
        holder_keys,
    )


def _proven(
    tx: Transaction, question: Question, strangers: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """The keys of merged segments without a row that are garbage, and the holders of the one."""
    if question.is_own:
        return list(strangers), ()
    proven = unknown_segments.of_purged_datasets(tx, strangers)
    holders = None
    segment = question.segment
    if segment is not None and segment.object_key in strangers:
        holders = unknown_segments.find_holders(tx, segment)
        proven |= {segment.object_key} if holders is not None else set()
    return [key for key in strangers if key in proven], holders or ()


def _abandoned(tx: Transaction, keys: dict[str, AttemptKey]) -> list[str]:
    """Skip keys under the prefix of a current claim."""
    ids = [UUID(name.task_id) for name in keys.values()]
    running = {(row[0], row[1]) for row in tx.execute(_RUNNING, {"ids": ids})}
    return [key for key, name in keys.items() if (name.task_id, name.attempt) not in running]


def _judge_babies(tx: Transaction, keys: dict[str, BabyKey]) -> tuple[set[str], set[str]]:
    """Babies that are reaped, lie beyond a stop or are of a retired stream; and unknown ones.

    Babies that are not committed are unknown: the tail of a stream, and every baby of a stream that
    no row names. Those that a backup keeps are neither.
    """
    ids = {UUID(name.stream_id) for name in keys.values()}
    streams = {row[0]: row[1:] for row in tx.execute(_STREAMS, {"ids": list(ids)})}
    kept = kept_babies.read(tx, ids)
    dead, unknown = set(), set()
    for key, name in keys.items():
        if name.stream_id not in streams:
            unknown.add(key)
            continue
        deleted, stopped, is_retired, committed = streams[name.stream_id]
        is_beyond = stopped is not None and name.offset > stopped
        if is_retired or is_beyond or name.offset <= deleted:
            ranges = kept.get(UUID(name.stream_id), ())
            if not any(kept_range.first <= name.offset <= kept_range.last for kept_range in ranges):
                dead.add(key)
        elif name.offset > committed:
            unknown.add(key)
    return dead, unknown
