"""CommitOffset: babies that become acknowledged, many in one transaction.

The order of checks is the contract's: replay, taken, stopped, gap, and only then the commit. The
counter is touched only where a commit makes a stream's first entry of a dataset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, func, select, text

from meta.errors import MetaError, NotFound, OffsetGap, OffsetTaken, StreamStopped
from meta.store import literals, stream_datasets, streams, usage, versions
from meta.store.engine import Transaction
from meta.store.stream_datasets import NewEntry
from meta.store.streams import Head
from meta.store.tables import datasets


@dataclass(frozen=True, slots=True)
class Commit:
    """A baby segment that is complete in the store; flush_id b"" = its collector has none.

    `dataset_ids` are its stamps, empty for an unstamped baby; `dataset_records` counts each's.
    """

    stream_id: UUID
    offset: int
    start_ns: int
    end_ns: int
    size_bytes: int
    num_records: int
    flush_id: bytes
    dataset_ids: tuple[UUID, ...]
    dataset_records: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """The stream's committed offset now, and the stamped datasets that no longer exist."""

    committed_offset: int
    deleted_dataset_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class _Baby:
    """What is remembered of a committed baby."""

    facts: tuple[int, int, int, int]
    flush_id: bytes


_BABIES = text(
    "SELECT b.stream_id, b.start_ns, b.end_ns, b.size_bytes, b.num_records, b.flush_id"
    " FROM baby_segments b"
    " JOIN unnest(cast(:streams AS uuid[]), cast(:offsets AS bigint[])) AS k (s, o)"
    ' ON b.stream_id = s AND b."offset" = o'
)
# A stamp is an array per baby, and arrays of arrays must be square: they travel as text.
_WRITE = text(
    "WITH new AS MATERIALIZED ("
    " SELECT * FROM unnest(cast(:streams AS uuid[]), cast(:offsets AS bigint[]),"
    "  cast(:starts AS bigint[]), cast(:ends AS bigint[]), cast(:sizes AS bigint[]),"
    "  cast(:records AS bigint[]), cast(:flushes AS bytea[]), cast(:stamps AS text[]))"
    " AS k (s, o, start_ns, end_ns, size, records, flush, stamps)"
    " WHERE NOT EXISTS (SELECT FROM unnest(stamps::uuid[]) AS d"
    "  WHERE NOT d = ANY(cast(:ignored AS uuid[])) AND NOT EXISTS (SELECT FROM stream_datasets e"
    "   WHERE e.stream_id = s AND e.dataset_id = d))),"
    ' babies AS (INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
    "  num_records, flush_id, dataset_ids, committed_at)"
    " SELECT s, o, start_ns, end_ns, size, records, flush, nullif(stamps, '{}')::uuid[],"
    "  clock_timestamp() FROM new)"
    " UPDATE stream_heads SET committed_offset = o, last_activity_at = clock_timestamp(),"
    " is_pending = true FROM new WHERE stream_id = s RETURNING stream_id"
)
_LIVE = select(datasets.c.id).where(
    datasets.c.deleted_at.is_(None), datasets.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid)))
)


def commit_batch(tx: Transaction, batch: Sequence[Commit]) -> list[Committed | MetaError | None]:
    """Commit babies of different streams; each is answered in order, refused ones by their error.

    Waits for no lock. None is the answer to a commit that has to be repeated with `commit_one`:
    someone holds its stream, the stream is unknown, or a stamped dataset has no entry there.
    """
    heads = streams.lock_free_heads(tx, [commit.stream_id for commit in batch])
    held = [commit for commit in batch if commit.stream_id in heads]
    babies = _known_babies(tx, held, heads)
    answers = {c.stream_id: _decide(c, heads[c.stream_id], babies) for c in held}
    _name_deleted(tx, held, answers)
    fresh = [c for c in held if answers[c.stream_id] is None]
    written = _write(tx, fresh, frozenset())
    for commit in fresh:
        if commit.stream_id in written:
            answers[commit.stream_id] = Committed(commit.offset)
    return [answers.get(commit.stream_id) for commit in batch]


def commit_one(tx: Transaction, commit: Commit) -> Committed:
    """Commit one baby, making the entries that its stamps lack; raises what it is refused for."""
    # Datasets come first in the order of locks.
    live = stream_datasets.lock_live_datasets(tx, commit.dataset_ids)
    gone = tuple(d for d in commit.dataset_ids if d not in live)
    heads = streams.lock_heads(tx, [commit.stream_id])
    if commit.stream_id not in heads:
        raise NotFound("there is no such stream", stream_id=commit.stream_id)
    babies = _known_babies(tx, [commit], heads)
    answer = _decide(commit, heads[commit.stream_id], babies)
    if isinstance(answer, MetaError):
        raise answer
    if answer is not None:
        return Committed(answer.committed_offset, gone)
    wanted = [NewEntry(commit.stream_id, d, commit.offset - 1) for d in sorted(live)]
    made = stream_datasets.create_missing(tx, wanted)
    _write(tx, [commit], frozenset(gone))
    if made:
        stream_datasets.stamp(tx, made, versions.allocate(tx))
    return Committed(commit.offset, gone)


def _name_deleted(
    tx: Transaction, batch: Sequence[Commit], answers: dict[UUID, Committed | MetaError | None]
) -> None:
    """Add the stamped datasets that are gone to the answers of replays."""
    replays = [
        (c, answer)
        for c in batch
        if c.dataset_ids and isinstance(answer := answers[c.stream_id], Committed)
    ]
    if not replays:
        return
    stamped = {d for c, _ in replays for d in c.dataset_ids}
    live = frozenset(tx.execute(_LIVE, {"ids": list(stamped)}).scalars())
    for commit, answer in replays:
        gone = tuple(d for d in commit.dataset_ids if d not in live)
        answers[commit.stream_id] = Committed(answer.committed_offset, gone)


def _decide(
    commit: Commit, head: Head, babies: Mapping[UUID, _Baby]
) -> Committed | MetaError | None:
    """What to answer without writing; None = the offset is the next and the stream is open."""
    following = head.committed_offset + 1
    if commit.offset < following:
        if _is_same(commit, babies.get(commit.stream_id)):
            return Committed(head.committed_offset)
        return OffsetTaken(
            f"offset {commit.offset} was committed by another flush",
            stream_id=commit.stream_id,
            next_offset=following,
        )
    if head.is_stopped:
        return StreamStopped(
            f"the stream stopped at offset {head.committed_offset}",
            stream_id=commit.stream_id,
            stopped_offset=head.committed_offset,
        )
    if commit.offset > following:
        return OffsetGap(
            f"offset {following} is not committed yet",
            stream_id=commit.stream_id,
            expected_offset=following,
        )
    return None


def _is_same(commit: Commit, baby: _Baby | None) -> bool:
    if baby is None:
        return False
    facts = (commit.start_ns, commit.end_ns, commit.size_bytes, commit.num_records)
    if commit.flush_id and baby.flush_id and commit.flush_id != baby.flush_id:
        return False
    return facts == baby.facts


def _known_babies(
    tx: Transaction, batch: Sequence[Commit], heads: Mapping[UUID, Head]
) -> dict[UUID, _Baby]:
    """The babies at offsets that are committed already, by stream."""
    old = [c for c in batch if c.offset <= heads[c.stream_id].committed_offset]
    if not old:
        return {}
    keys = {
        "streams": literals.uuids([c.stream_id for c in old]),
        "offsets": literals.numbers([c.offset for c in old]),
    }
    return {
        stream_id: _Baby((start, end, size, records), bytes(flush_id or b""))
        for stream_id, start, end, size, records, flush_id in tx.execute(_BABIES, keys)
    }


def _write(tx: Transaction, batch: Sequence[Commit], ignored: frozenset[UUID]) -> frozenset[UUID]:
    """Insert babies and move the heads; a baby whose stamps lack an entry is left out.

    Datasets in `ignored` need none. Answers the streams that were written.
    """
    if not batch:
        return frozenset()
    values = {
        "streams": literals.uuids([c.stream_id for c in batch]),
        "offsets": literals.numbers([c.offset for c in batch]),
        "starts": literals.numbers([c.start_ns for c in batch]),
        "ends": literals.numbers([c.end_ns for c in batch]),
        "sizes": literals.numbers([c.size_bytes for c in batch]),
        "records": literals.numbers([c.num_records for c in batch]),
        "flushes": literals.bytes_or_null([c.flush_id for c in batch]),
        "stamps": literals.texts([literals.uuids(c.dataset_ids) for c in batch]),
        "ignored": literals.uuids(ignored),
    }
    written = frozenset(tx.execute(_WRITE, values).scalars())
    usage.add(tx, _counted(batch, written, ignored))
    return written


def _counted(
    batch: Sequence[Commit], written: frozenset[UUID], ignored: frozenset[UUID]
) -> dict[UUID, int]:
    """Records per dataset in the babies that were written."""
    counts: dict[UUID, int] = {}
    for commit in batch:
        if commit.stream_id not in written or not commit.dataset_ids:
            continue
        share, rest = divmod(commit.num_records, len(commit.dataset_ids))
        for index, dataset_id in enumerate(commit.dataset_ids):
            records = share + (index < rest)
            if commit.dataset_records:
                records = commit.dataset_records[index]
            if dataset_id not in ignored:
                counts[dataset_id] = counts.get(dataset_id, 0) + records
    return counts
