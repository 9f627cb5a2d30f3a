"""Brings back what a database that went back to an older state does not know, from the bucket.

It runs beside a running stack. Streams that the database does not know come back ended, and the
nurseries merge their babies. A collector whose stream was unknown wrote what was not acknowledged
to another one: the end of a stream whose exports are all acknowledged there is left out.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TypeVar
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.engine.pool import Database
from meta.store.recovery import unknown_streams
from meta.store.recovery.restored_streams import RestoredEntry, RestoredStream
from meta.store.versions import witness_state
from meta.watches.witness_log import WitnessLog
from segments.baby import Baby
from segments.errors import ObjectMissing
from segments.keys import BABIES_ROOT, BabyKey, baby_key, baby_prefix, parse_key
from segments.rebuild.inventory import baby_found, decoded
from segments.rebuild.plan import BabyFound
from segments.store.interface import ObjectInfo, ObjectStore
from segplane.recovery.rebuild import baby_row

THREADS = 8
AT_ONCE = 256
# A collector that meets NotFound has written elsewhere by then.
QUIET_SECS = 60.0
_NIL = str(UUID(int=0))
_SKEW_NANOS = 60 * 10**9

Item = TypeVar("Item")
Result = TypeVar("Result")


class ReconcileRefused(Exception):
    """Nothing can be reconciled now; the message is one line that says why."""


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """Outcome for one unknown stream; `reason` says why it was left, "" = it came back.

    `repeated` are babies at its end whose exports are all acknowledged in other streams.
    """

    stream_id: str
    babies: int
    records: int
    repeated: int = 0
    new_dataset_ids: tuple[str, ...] = ()
    reason: str = ""


class _Share(Enum):
    """The exports of a baby that other babies hold which were committed since the restore."""

    NONE = "none"
    SOME = "some"
    ALL = "all"
    NO_EXPORTS = "no exports"


def check_bucket(database: Database, store: ObjectStore) -> None:
    """Raise ReconcileRefused for another database's bucket, or until a meta has compared them."""
    side = Transactions(database).read(witness_state.read)
    if side.history is None:
        return
    newest = WitnessLog(store).view(side.history).newest
    if newest is None or newest.term != side.term:
        raise ReconcileRefused(
            "the newest witness in the bucket is not this database's: is it the right bucket, and"
            " does meta run?"
        )


def adopt_streams(
    database: Database,
    store: ObjectStore,
    *,
    is_dry_run: bool,
    progress: Callable[[str], None] = lambda _: None,
) -> Generator[StreamOutcome]:
    """Bring back every stream that the database does not know; one transaction for each.

    A stream that a live collector may still write is left for the next run. Raises
    ReconcileRefused, MetaError, StoreError.
    """
    transactions = Transactions(database)
    with unknown_streams.sole_run(database) as is_sole:
        if not is_sole:
            raise ReconcileRefused("another `segplane catalog reconcile` of this database runs")
        stream_ids = _unknown_ids(transactions, store)
        progress(f"{len(stream_ids)} unknown streams")
        if not stream_ids:
            return
        since = _rewritten_since(transactions, stream_ids)
        acknowledged = _digests_since(transactions, store, since)
        progress(f"{len(acknowledged)} exports were acknowledged since the restore")
        for stream_id in stream_ids:
            yield _adopt_one(transactions, store, stream_id, acknowledged, is_dry_run=is_dry_run)


def _unknown_ids(transactions: Transactions, store: ObjectStore) -> list[str]:
    """The streams of the bucket that the database does not know: only their ids are kept."""
    ids = _stream_ids(store)
    unknown: list[str] = []
    while batch := list(islice(ids, AT_ONCE)):
        known = _known(transactions, batch)
        unknown += [stream_id for stream_id in batch if stream_id not in known]
    return unknown


def _known(transactions: Transactions, stream_ids: Sequence[str]) -> frozenset[str]:
    return transactions.read(lambda tx: unknown_streams.known(tx, stream_ids))


def _stream_ids(store: ObjectStore) -> Iterator[str]:
    last = ""
    for info in store.list(BABIES_ROOT):
        key = parse_key(info.key)
        if isinstance(key, BabyKey) and key.stream_id != last:
            last = key.stream_id
            yield last


def _rewritten_since(transactions: Transactions, stream_ids: Sequence[str]) -> int:
    """The time, in nanoseconds, since which a collector may have written a flush a second time."""
    restored_at = transactions.read(unknown_streams.restored_at_nanos)
    # A version 7 UUID begins with its time in milliseconds.
    created = min(UUID(stream_id).int >> 80 for stream_id in stream_ids) * 10**6
    return max(0, (created if restored_at is None else restored_at) - _SKEW_NANOS)


def _digests_since(transactions: Transactions, store: ObjectStore, since: int) -> frozenset[bytes]:
    digests: set[bytes] = set()
    page: list[tuple[str, int]] = [(_NIL, -1)]
    while page:
        last = page[-1]
        page = _committed_since(transactions, since, last)
        for some in _each(lambda place: _digests_of(store, baby_key(*place)), page):
            digests.update(some)
    return frozenset(digests)


def _committed_since(
    transactions: Transactions, since: int, after: tuple[str, int]
) -> list[tuple[str, int]]:
    return transactions.read(lambda tx: unknown_streams.committed_since(tx, since, after))


def _adopt_one(
    transactions: Transactions,
    store: ObjectStore,
    stream_id: str,
    acknowledged: frozenset[bytes],
    *,
    is_dry_run: bool,
) -> StreamOutcome:
    found, shares = _read_stream(store, stream_id, acknowledged)
    records = sum(baby.num_records for baby in found)
    newest = max((baby.modified_at_nanos for baby in found), default=0)

    def left(reason: str) -> StreamOutcome:
        return StreamOutcome(stream_id, len(found), records, reason=reason)

    if not found:
        return left("its first baby segments are gone")
    if newest > store.now_nanos() - int(QUIET_SECS * 1e9):
        return left(f"it was written in the last {QUIET_SECS:.0f} s; run again")
    end = _end(shares)
    if end is None:
        return left("its end holds exports that were acknowledged elsewhere, among others")
    kept = found[:end]
    stream = RestoredStream(
        UUID(stream_id),
        len(kept) - 1,
        -1,
        tuple(
            RestoredEntry(UUID(dataset_id), -1, 0)
            for dataset_id in sorted({d for baby in kept for d in baby.dataset_ids or ()})
        ),
        tuple(map(baby_row, kept)),
    )
    new: tuple[UUID, ...] = ()
    if not is_dry_run:
        new = transactions.write(lambda tx: unknown_streams.adopt(tx, stream))
    return StreamOutcome(
        stream_id,
        len(kept),
        sum(baby.num_records for baby in kept),
        len(found) - len(kept),
        tuple(map(str, new)),
    )


def _read_stream(
    store: ObjectStore, stream_id: str, acknowledged: frozenset[bytes]
) -> tuple[list[BabyFound], list[_Share]]:
    """Read the babies of a stream from offset 0 to its stop message, or to the first hole.

    Beyond a hole nothing was acknowledged.
    """
    found: list[BabyFound] = []
    shares: list[_Share] = []

    def read(info: ObjectInfo) -> tuple[BabyFound, _Share]:
        baby = decoded(store, info.key)
        return baby_found(info, baby), _share(_digests(baby), acknowledged)

    for baby, share in _each(read, store.list(baby_prefix(stream_id))):
        if baby.offset != len(found):
            break
        found.append(baby)
        shares.append(share)
        if baby.is_stop:
            break
    return found, shares


def _share(digests: Sequence[bytes], acknowledged: frozenset[bytes]) -> _Share:
    repeated = sum(digest in acknowledged for digest in digests)
    if not digests:
        return _Share.NO_EXPORTS
    return _Share.ALL if repeated == len(digests) else _Share.SOME if repeated else _Share.NONE


def _end(shares: Sequence[_Share]) -> int | None:
    """Count the babies that were acknowledged in the stream itself; None where that cannot be told.

    A collector wrote its last flushes elsewhere, all of each. Equal bytes further up are another
    export of the same content.
    """
    end = len(shares)
    for index in range(len(shares) - 1, -1, -1):
        if shares[index] is _Share.SOME:
            return None
        if shares[index] is _Share.NONE:
            break
        if shares[index] is _Share.ALL:
            end = index
    return end


def _digests(baby: Baby | None) -> tuple[bytes, ...]:
    if baby is None:
        return ()
    return tuple(export.digest for part in baby.parts for export in part.exports if export.digest)


def _digests_of(store: ObjectStore, key: str) -> tuple[bytes, ...]:
    try:
        return _digests(decoded(store, key))
    except ObjectMissing:
        return ()


def _each(read: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Read objects concurrently, some ahead, in order."""
    rest = iter(items)
    with ThreadPoolExecutor(THREADS) as pool:
        while batch := list(islice(rest, AT_ONCE)):
            yield from pool.map(read, batch)
