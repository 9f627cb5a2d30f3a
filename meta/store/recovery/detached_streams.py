"""Attaches the streams of a restored database to their collectors again, or ends them.

It follows the return of merged segments, which moves the offsets of their streams.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import text

from meta.errors import RaceLost
from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.recovery import lost_segments, restored_streams, unknown_streams
from meta.store.recovery.lost_segments import ReturnedStream
from meta.store.streams import stream_datasets, stream_ends, streams
from meta.store.streams.detached_streams import ATTACHED_KEY, IS_DETACHED
from meta.store.streams.streams import Stop
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.inventory.streams import EndedStream

_STOPPED_BY_TIMEOUT = 2
_KEY = ATTACHED_KEY.format("s")
# A successor is another stream of the collector: one that it has begun since the restore, or a
# later one that a second restore has detached too. Ids begin with times of their meta's clock.
_PAGE = text(f"""
    WITH page AS (
      SELECT s.id, {_KEY} AS key FROM ingest_streams s
      WHERE s.stopped_offset IS NULL AND {IS_DETACHED.format("s")} AND s.id > :after
      ORDER BY s.id LIMIT :most),
    keys AS (
      SELECT s.id, CASE WHEN {IS_DETACHED.format("s")} THEN {_KEY} ELSE s.collector_id END AS key,
        s.stopped_offset IS NULL AND NOT {IS_DETACHED.format("s")} AS is_current
      FROM ingest_streams s)
    SELECT p.id::text, coalesce(min(k.id::text) FILTER (WHERE k.id > p.id OR k.is_current), '')
    FROM page p JOIN keys k ON k.key = p.key GROUP BY p.id ORDER BY p.id
""")  # noqa: S608
_COUNT = text(f"""
    SELECT count(*) FROM ingest_streams s
    WHERE s.stopped_offset IS NULL AND {IS_DETACHED.format("s")}
""")  # noqa: S608
_ATTACH = text(f"""
    UPDATE ingest_streams s SET collector_id = {_KEY}, changed_version = :version
    WHERE s.id = :stream AND s.stopped_offset IS NULL AND {IS_DETACHED.format("s")}
      AND NOT EXISTS (
        SELECT FROM ingest_streams o WHERE o.collector_id = {_KEY} AND o.stopped_offset IS NULL)
    RETURNING s.id
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class DetachedStream:
    """A stream without its collector, and the first that this has begun since; "" = none."""

    stream_id: str
    successor: str


def count(tx: Transaction) -> int:
    """Count the detached streams."""
    return int(tx.execute(_COUNT).scalar_one())


def page(tx: Transaction, after: UUID, most: int) -> list[DetachedStream]:
    """Detached streams in the order of their ids."""
    rows = tx.execute(_PAGE, {"after": after, "most": most})
    return [DetachedStream(stream_id, successor) for stream_id, successor in rows]


def attach(tx: Transaction, stream: ReturnedStream, stamps: Set[UUID]) -> tuple[UUID, ...]:
    """Let the collector continue behind the babies that are gone.

    `stamps` are datasets of later babies, which get entries. Answers those that were not known.
    Raises RaceLost if the stream has changed meanwhile, or if its collector has begun another one.
    """
    assert stream.before is not None
    new: tuple[UUID, ...] = ()
    if stream.committed > stream.before.committed or _entering(stream, stamps):
        lost_segments.check_streams(tx, [stream])
        version, new = _move(tx, stream, stamps, stream.committed)
    else:
        streams.lock_heads(tx, [stream.id])
        version = versions.allocate(tx)
    if tx.execute(_ATTACH, {"stream": stream.id, "version": version}).one_or_none() is None:
        raise RaceLost("a collector has started meanwhile: run it again")
    return new


def end(tx: Transaction, stream: ReturnedStream) -> tuple[UUID, ...]:
    """Commit the babies and end the stream there; returns datasets that were not known.

    Raises RaceLost if it was planned from another state.
    """
    lost_segments.check_streams(tx, [stream])
    detail = f"{len(stream.babies)} babies of a collector that began another stream"
    audit.note(tx, "segplane catalog reconcile", str(stream.id), detail)
    restored_streams.write_babies(tx, [EndedStream(str(stream.id), -1, -1, (), stream.babies)])
    begin = stream.babies[0].offset - 1 if stream.babies else stream.committed
    stamps = {UUID(d) for baby in stream.babies for d in baby.dataset_ids or ()}
    _, new = _move(tx, stream, stamps, begin)
    stream_ends.stop(tx, stream.id, Stop(stream.committed, None, _STOPPED_BY_TIMEOUT))
    return new


def _move(
    tx: Transaction, stream: ReturnedStream, stamps: Set[UUID], begin: int
) -> tuple[Version, tuple[UUID, ...]]:
    """Move the stream, with entries that begin behind `begin` for stamps that have none."""
    live = stream_datasets.lock_live_datasets(tx, stamps)
    version = versions.allocate(tx)
    new = unknown_streams.add_datasets(tx, stamps, version)
    entering = _entering(stream, {*live, *new})
    ends = dict.fromkeys(sorted(map(str, entering)), begin)
    lost_segments.write_stream(tx, replace(stream, ends=ends), version)
    return version, new


def _entering(stream: ReturnedStream, stamps: Set[UUID]) -> set[UUID]:
    entries = stream.before.merged if stream.before else {}
    return {dataset_id for dataset_id in stamps if str(dataset_id) not in entries}
