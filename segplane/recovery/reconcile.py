"""Brings back objects in the bucket that a database in an older state does not know.

It runs while the stack runs. Streams that the database does not know come back ended, and the
nurseries merge their babies. A collector whose stream was unknown wrote its unacknowledged exports
to another one: the end of a stream whose exports are all acknowledged there is skipped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.damage.losses import Acceptance
from meta.store.engine.pool import Database, Transaction
from meta.store.locks import resource_locks
from meta.store.recovery import gone_segments, unknown_streams
from meta.store.recovery.gone_segments import RevokedToken
from meta.store.segments import object_stores
from meta.store.versions import witness_state
from meta.watches.witness_log import WitnessLog
from segments.inventory.streams import EndedStream, StreamEntry
from segments.store.interface import ObjectStore
from segments.store.open import store_names
from segplane.recovery.detached_streams import DetachedStreams, SettledStream
from segplane.recovery.gone_segments import Decision, GoneSegments, settle_gone
from segplane.recovery.lost_segments import SegmentsOutcome, return_segments
from segplane.recovery.returned_names import NamesOutcome, take_names
from segplane.recovery.unknown_babies import UnknownBabies, UnknownTail
from segplane.recovery.unknown_objects import find_streams

PROGRESS_EVERY = 100
# Tokens that a report names at most.
REVOKED_MAX = 1_000
ACCEPTANCE = Acceptance("segplane catalog reconcile", "deleted after the backup")


class ReconcileRefused(Exception):
    """Nothing can be reconciled now; the message is one line that says why."""


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """Outcome for one stream that came back, ended; `reason` says why it was left, "" = it is back.

    The database knows a stream that it had active, and whose collector has begun another one since.
    `repeated` are babies at its end whose exports are all acknowledged in other streams.
    """

    stream_id: str
    babies: int
    records: int
    repeated: int = 0
    new_dataset_ids: tuple[str, ...] = ()
    reason: str = ""
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """Outcome for every stream that is ended, and for the unknown segments.

    `gone` are known segments whose objects are missing; `revoked` are the tokens that the restore
    revoked again, at most REVOKED_MAX. `names` are those of what came back, and those that differ.
    """

    streams: tuple[StreamOutcome, ...]
    segments: SegmentsOutcome
    gone: tuple[GoneSegments, ...] = ()
    revoked: tuple[RevokedToken, ...] = ()
    names: NamesOutcome = field(default_factory=NamesOutcome)

    @property
    def is_all_back(self) -> bool:
        """True if nothing of the bucket is left to bring back."""
        return not self.segments.left and not any(stream.reason for stream in self.streams)

    @property
    def is_complete(self) -> bool:
        """True if nothing is left, nor to decide."""
        return self.is_all_back and all(missing.is_accepted for missing in self.gone)


def check_bucket(transactions: Transactions, store: ObjectStore) -> None:
    """Raise ReconcileRefused for another database's bucket, or until a meta has compared them."""
    side = transactions.read(witness_state.read)
    if side.history is None:
        return
    newest = WitnessLog(store).newest()
    if newest is None or newest.term != side.term:
        raise ReconcileRefused(
            "the newest witness in the bucket is not this database's: is it the right bucket, and"
            " does meta run?"
        )
    # Until then versions are refused, and losses are not known to be losses.
    if not transactions.read(witness_state.status).is_compared:
        raise ReconcileRefused(
            "meta has not compared this database with its witness yet: run it again in some"
            " seconds, while meta runs"
        )


def check_stores(transactions: Transactions, store: ObjectStore) -> None:
    """Raise ReconcileRefused unless the named stores are those that meta is configured with.

    Without one of them its lost segments would be skipped unnoticed, and meta cannot answer
    segments of one that it does not know.
    """
    names, stored = store_names(store), transactions.read(object_stores.names)
    if sorted(names) != sorted(stored):
        raise ReconcileRefused(
            f"the named stores are {', '.join(names) or 'none'}, and meta is configured with"
            f" {', '.join(stored) or 'none'}: give --object-stores as meta has META_OBJECT_STORES"
        )


def run(
    database: Database,
    store: ObjectStore,
    *,
    is_dry_run: bool,
    decide: Decision = lambda _: False,
    acceptance: Acceptance = ACCEPTANCE,
    progress: Callable[[str], None] = lambda _: None,
) -> ReconcileReport:
    """Bring back every stream and every segment that is needed and that the database does not know.

    One transaction for each stream, and one for all segments. Then `decide` says whether missing
    objects were deleted on purpose. Raises ReconcileRefused, MetaError, StoreError.
    """
    transactions = Transactions(database)
    with unknown_streams.sole_run(database) as is_sole:
        if not is_sole:
            raise ReconcileRefused("another `segplane catalog reconcile` of this database runs")
        check_bucket(transactions, store)
        check_stores(transactions, store)
        restored_at = transactions.read(unknown_streams.restored_at_nanos)
        stream_ids = find_streams(transactions, store)
        progress(f"{len(stream_ids)} unknown streams")
        babies = UnknownBabies(transactions, store, stream_ids)
        progress(f"{babies.num_acknowledged} exports were acknowledged since the restore")
        outcomes = _adopt_all(transactions, stream_ids, babies, progress, is_dry_run=is_dry_run)
        segments = return_segments(
            transactions, store, babies.read, is_dry_run=is_dry_run, progress=progress
        )
        outcomes |= {s: _outcome(s, tail) for s, tail in segments.streams.items()}
        detached = DetachedStreams(transactions, store, segments.left_streams, is_dry_run, progress)
        outcomes |= {s.stream_id: _outcome_of(s) for s in detached.settle()}
        names = take_names(transactions, store, is_dry_run=is_dry_run)
        missing = settle_gone(
            transactions,
            store,
            decide=decide,
            acceptance=acceptance,
            is_dry_run=is_dry_run,
            progress=progress,
        )
        revoked = transactions.read(lambda tx: gone_segments.revoked_again(tx, REVOKED_MAX))
        back = tuple(outcomes.values()), _with_names(segments, names)
        report = ReconcileReport(*back, missing, tuple(revoked), names)
        if report.is_all_back and not is_dry_run:
            transactions.write(partial(_note_reconciled, restored_at=restored_at))
    return report


def _with_names(segments: SegmentsOutcome, names: NamesOutcome) -> SegmentsOutcome:
    """Name the datasets without deduplication keys as they are called by now."""
    shown = {name.id: name.name for name in names.returned}
    unclaimed = (
        replace(dataset, dataset_name=shown.get(dataset.dataset_id, dataset.dataset_name))
        for dataset in segments.unclaimed
    )
    return replace(segments, unclaimed=tuple(unclaimed))


def _note_reconciled(tx: Transaction, *, restored_at: int | None) -> None:
    resource_locks.end_waiting(tx)
    if restored_at is not None:
        witness_state.note_reconciled(tx, restored_at)


def _adopt_all(
    transactions: Transactions,
    stream_ids: Sequence[str],
    babies: UnknownBabies,
    progress: Callable[[str], None],
    *,
    is_dry_run: bool,
) -> dict[str, StreamOutcome]:
    outcomes: dict[str, StreamOutcome] = {}
    for count, stream_id in enumerate(stream_ids, start=1):
        tail = babies.read(stream_id)
        outcomes[stream_id] = _adopt(transactions, stream_id, tail, is_dry_run=is_dry_run)
        if count % PROGRESS_EVERY == 0:
            progress(f"{count} of {len(stream_ids)} streams")
    return outcomes


def _adopt(
    transactions: Transactions, stream_id: str, tail: UnknownTail, *, is_dry_run: bool
) -> StreamOutcome:
    if tail.reason:
        return _outcome(stream_id, tail)
    if tail.babies and tail.babies[0].offset:
        # The stream's segments bring it back, if they hold the missing records.
        return _outcome(stream_id, replace(tail, reason="its first baby segments are gone"))
    dataset_ids = sorted({d for baby in tail.babies for d in baby.dataset_ids or ()})
    entries = tuple(StreamEntry(dataset_id, -1) for dataset_id in dataset_ids)
    stream = EndedStream(stream_id, len(tail.babies) - 1, -1, entries, tail.babies)
    new: tuple[UUID, ...] = ()
    if not is_dry_run:
        new = transactions.write(lambda tx: unknown_streams.adopt(tx, stream))
    return replace(_outcome(stream_id, tail), new_dataset_ids=tuple(map(str, new)))


def _outcome_of(settled: SettledStream) -> StreamOutcome:
    outcome = _outcome(settled.stream_id, settled.tail)
    return replace(outcome, new_dataset_ids=settled.new_dataset_ids, is_known=True)


def _outcome(stream_id: str, tail: UnknownTail) -> StreamOutcome:
    records = sum(baby.num_records for baby in tail.babies)
    return StreamOutcome(stream_id, len(tail.babies), records, tail.repeated, reason=tail.reason)
