"""Babies of streams that a restored database does not know, as far as they were acknowledged.

A collector whose stream is unknown writes its unacknowledged exports to another one. So the end of
a stream whose exports are all acknowledged elsewhere, by their digests, is skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.recovery import unknown_streams
from segments.baby import Baby
from segments.errors import ObjectMissing
from segments.inventory.contents import decoded, read_babies, read_each
from segments.inventory.streams import BabyFound
from segments.keys import baby_key
from segments.store.interface import ObjectStore

# A collector that meets NotFound has written elsewhere by then.
QUIET_SECS = 60.0
_NIL = str(UUID(int=0))
_SKEW_NANOS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class UnknownTail:
    """The babies of a stream that come back, from the first that is there to the last.

    `repeated` are those at its end whose exports are all acknowledged in other streams. With a
    reason the stream is left.
    """

    babies: tuple[BabyFound, ...]
    repeated: int = 0
    reason: str = ""


class UnknownBabies:
    """Reads unknown streams; knows the digests of exports acknowledged since the restore."""

    def __init__(
        self,
        transactions: Transactions,
        store: ObjectStore,
        stream_ids: Sequence[str],
        rewritten_since: int | None = None,
    ) -> None:
        since = _rewritten_since(transactions, stream_ids)
        if rewritten_since is not None:
            since = min(since, max(0, rewritten_since - _SKEW_NANOS))
        self._store = store
        self._acknowledged = _digests_since(transactions, store, since)

    @property
    def num_acknowledged(self) -> int:
        """The number of exports that were acknowledged since the restore."""
        return len(self._acknowledged)

    def read(self, stream_id: str, first: int = 0) -> UnknownTail:
        """Read a stream from an offset to its stop message or its first hole.

        Nothing beyond was acknowledged. Babies before the first that is there are gone.
        """
        babies: list[BabyFound] = []
        exports: list[tuple[int, int]] = []
        for baby, content in read_babies(self._store, stream_id, first):
            if babies and baby.offset != babies[-1].offset + 1:
                break
            babies.append(baby)
            digests = _digests(content)
            exports.append((sum(d in self._acknowledged for d in digests), len(digests)))
            if baby.is_stop:
                break
        newest = max((baby.modified_at_nanos for baby in babies), default=0)
        if newest > self._store.now_nanos() - int(QUIET_SECS * 1e9):
            reason = f"it was written in the last {QUIET_SECS:.0f} s; run again"
            return UnknownTail(tuple(babies), reason=reason)
        end = _end(exports)
        if end is None:
            reason = "its end holds exports that were acknowledged elsewhere, among others"
            return UnknownTail(tuple(babies), reason=reason)
        return UnknownTail(tuple(babies[:end]), len(babies) - end)


def created_nanos(stream_id: str) -> int:
    """The time at which a stream was registered: its version 7 UUID begins with milliseconds."""
    return (UUID(stream_id).int >> 80) * 10**6


def _rewritten_since(transactions: Transactions, stream_ids: Sequence[str]) -> int:
    """The time, in nanoseconds, since which a collector may have written a flush a second time."""
    restored_at = transactions.read(unknown_streams.restored_at_nanos)
    created = min(map(created_nanos, stream_ids), default=2**47 * 10**6)
    since = created if restored_at is None else restored_at
    return max(0, min(since, 2**62) - _SKEW_NANOS)


def _digests_since(transactions: Transactions, store: ObjectStore, since: int) -> frozenset[bytes]:
    digests: set[bytes] = set()
    page: list[tuple[str, int]] = [(_NIL, -1)]
    while page:
        page = transactions.read(
            partial(unknown_streams.committed_since, nanos=since, after=page[-1])
        )
        for some in read_each(lambda baby: _digests_of(store, baby_key(*baby)), page):
            digests.update(some)
    return frozenset(digests)


def _end(exports: Sequence[tuple[int, int]]) -> int | None:
    """Count the babies that were acknowledged in the stream itself; None if that is not known.

    Of each baby the exports that others hold are given, and all. A collector wrote its last flushes
    elsewhere, all of each. Equal bytes further up are another export of the same content.
    """
    end = len(exports)
    for index in range(len(exports) - 1, -1, -1):
        repeated, total = exports[index]
        if 0 < repeated < total:
            return None
        if total and not repeated:
            break
        if total:
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
