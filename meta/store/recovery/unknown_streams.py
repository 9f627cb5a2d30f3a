"""Adopts streams that the bucket knows and the database does not: it went back to an older state.

A stream comes back ended, with all its babies to be merged. The row that ends it is its fence: no
collector writes it from then on.
"""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from sqlalchemy import text

from meta.store.access import audit
from meta.store.engine.pool import Database, Transaction
from meta.store.recovery import rebuild, restored_streams
from meta.store.streams import stream_datasets
from meta.store.versions import clock, versions
from meta.store.versions.versions import Version
from segments.inventory.streams import EndedStream

COLLECTOR = "reconciled with the bucket"
BABIES_AT_ONCE = 1_000
# Any number that nothing else locks.
_LOCK_KEY = 0x5EC0_4C11_E0
_TRY_LOCK = text("SELECT pg_try_advisory_lock(:key)")
_UNLOCK = text("SELECT pg_advisory_unlock(:key)")
_KNOWN = text("SELECT id::text FROM ingest_streams WHERE id = ANY(:ids)")
_RESTORED_AT = text("""
    SELECT (extract(epoch FROM restored_at) * 1000000000)::bigint FROM witness_state
""")
# Uses the primary key: a restored database holds the commits of a day at most, and those to come.
_COMMITTED = text("""
    SELECT stream_id, "offset" FROM baby_segments
    WHERE (stream_id, "offset") > (:stream, :offset) AND num_records > 0 AND reaped_at IS NULL
      AND committed_at >= timestamptz 'epoch' + (:since / 1000) * interval '1 microsecond'
    ORDER BY stream_id, "offset" LIMIT :most
""")
_DATASETS = text("SELECT id FROM datasets WHERE id = ANY(:ids)")
_RETIRE_EMPTY = text("""
    UPDATE ingest_streams SET retired_at = now() WHERE id = :id AND stopped_offset = -1
""")


@contextmanager
def sole_run(database: Database) -> Iterator[bool]:
    """Hold the lock of reconciliations; False if another one runs."""
    with database.single() as connection:
        is_ours = bool(connection.execute(_TRY_LOCK, {"key": _LOCK_KEY}).scalar_one())
        try:
            yield is_ours
        finally:
            if is_ours:
                connection.execute(_UNLOCK, {"key": _LOCK_KEY})


def known(tx: Transaction, stream_ids: Sequence[str]) -> frozenset[str]:
    """Those of some streams that the database knows, retired ones too."""
    ids = [UUID(stream_id) for stream_id in stream_ids]
    return frozenset(tx.execute(_KNOWN, {"ids": ids}).scalars())


def restored_at_nanos(tx: Transaction) -> int | None:
    """Time at which the database was last found to be restored; None = never."""
    value: int | None = tx.execute(_RESTORED_AT).scalar_one_or_none()
    return value


def committed_since(tx: Transaction, nanos: int, after: tuple[str, int]) -> list[tuple[str, int]]:
    """A page of the babies with records that were committed since a time and not reaped."""
    values = {"since": nanos, "stream": UUID(after[0]), "offset": after[1]}
    rows = tx.execute(_COMMITTED, {**values, "most": BABIES_AT_ONCE})
    return [(str(row[0]), row[1]) for row in rows]


def adopt(tx: Transaction, stream: EndedStream) -> tuple[UUID, ...]:
    """Write a stream that is not known, and the datasets of its stamps that never were.

    Entries of deleted datasets are skipped, as by CommitOffset. Answers the new datasets.
    """
    if known(tx, [stream.stream_id]):
        return ()
    stamped = {UUID(entry.dataset_id) for entry in stream.entries}
    audit.note(tx, "segplane catalog reconcile", stream.stream_id, f"{len(stream.babies)} babies")
    restored_streams.write_babies(tx, [stream])
    live = stream_datasets.lock_live_datasets(tx, stamped)
    version = versions.allocate(tx)
    new = add_datasets(tx, stamped, version)
    there_now = {*live, *new}
    kept = tuple(e for e in stream.entries if UUID(e.dataset_id) in there_now)
    write(tx, replace(stream, entries=kept), version)
    tx.execute(_RETIRE_EMPTY, {"id": UUID(stream.stream_id)})
    return new


def add_datasets(tx: Transaction, stamped: Set[UUID], version: Version) -> tuple[UUID, ...]:
    """Write the datasets that never were; returns them."""
    there = frozenset(tx.execute(_DATASETS, {"ids": list(stamped)}).scalars())
    new = tuple(sorted(stamped - there))
    for dataset_id in new:
        rebuild.insert_awaited(tx, dataset_id, version)
    return new


def write(tx: Transaction, stream: EndedStream, version: Version) -> None:
    """Write a stream whose babies are written, ended now."""
    restored_streams.write_streams(
        tx, [stream], version, collector=COLLECTOR, stopped_at_nanos=clock.now_nanos(tx)
    )
