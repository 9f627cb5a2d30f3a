"""Prepares state for pairs of calls, and makes the calls, inside this process.

Where a call has a group committer in front (CommitOffset, RegisterMergedSegment, Complete, Poll),
the function behind it is run in its own transaction: a step is a statement of one call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy import text

from meta.commits.change_feed import ChangeFeed
from meta.commits.merge_debts import MergeDebts
from meta.commits.merge_registrar import MergeRegistrar
from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError
from meta.services.deletion.segment_deletion import SegmentDeletionServicer
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.services.pins import pins
from meta.services.server_parts import ServerParts
from meta.store.access.token_secrets import TokenHasher
from meta.store.catalog import datasets
from meta.store.deletion import orphans
from meta.store.deletion.orphans import Question
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_claims, merge_completions
from meta.store.merging.merge_claims import Poll
from meta.store.merging.merge_completions import Completion, Rejected
from meta.store.merging.merge_tasks import MergeTaskRow
from meta.store.registration import registrations
from meta.store.registration.calls import Merge
from meta.store.segments import segments
from meta.store.segments.segments import NewSegment
from meta.store.streams import commits, stream_datasets, stream_ends, streams
from meta.store.streams.commits import Committed, OffsetCommit
from meta.store.streams.stream_datasets import EntryMove, NewEntry
from meta.store.streams.streams import Stop
from meta.store.versions import versions
from meta.store.versions.versions import Version
from meta.v1 import operations_pb2, segment_deletion_pb2, segment_lookup_pb2
from segments.dataset_names import DatasetName
from segments.keys import attempt_prefix, join_key, merged_prefix
from segments.offsets import OffsetSpan
from tests.support.meta.server import MetaServer


def register(transactions: Transactions, merge: Merge) -> Version:
    """Register one call in a transaction, which also commits its refusal, and raise that."""
    (answer,) = transactions.write(lambda tx: registrations.register_batch(tx, [merge]))
    if isinstance(answer, MetaError):
        raise answer
    return answer


@dataclass(frozen=True)
class Read:
    """Answer of FindSegments: the ids, and their version."""

    ids: frozenset[str]
    version: int


class InProcessScene:
    """One database with the calls of a collector, a nursery, a worker and a reader."""

    def __init__(self, server: MetaServer) -> None:
        self.client = server.client
        self.transactions = Transactions(server.running.database)
        self.settings: Settings = server.settings
        self._lookup = SegmentLookupServicer(self.transactions, self.settings)
        self._server = server_parts(self.transactions, self.settings)
        self._deletion = SegmentDeletionServicer(self.transactions, self.settings)

    def dataset(self) -> UUID:
        name = DatasetName(None, uuid4().hex)
        made = self.transactions.write(lambda tx: datasets.create(tx, name, live_max=100_000))
        return made.id

    def name_of(self, dataset_id: UUID) -> str:
        return self.transactions.read(lambda tx: datasets.get(tx, dataset_id).name)

    def stream(self, *dataset_ids: UUID, committed: int = -1) -> UUID:
        """Make a stream with entries from its start and babies stamped with all of them."""

        def work(tx: Transaction) -> UUID:
            stream_id, _ = streams.find_or_create(tx, uuid4().hex, "")
            wanted = [NewEntry(stream_id, d, -1) for d in sorted(dataset_ids)]
            stream_datasets.create_missing(tx, wanted)
            for offset in range(committed + 1):
                commits.commit_one(tx, baby(stream_id, offset, *dataset_ids))
            return stream_id

        return self.transactions.write(work)

    def commit(self, commit: OffsetCommit) -> Committed:
        return self.transactions.write(lambda tx: commits.commit_one(tx, commit))

    def commit_batch(self, *batch: OffsetCommit) -> Sequence[Committed | MetaError | None]:
        return self.transactions.write(lambda tx: commits.commit_batch(tx.exec_driver_sql, batch))

    def register(
        self, stream_id: UUID, dataset_id: UUID, seen: int, merged: int, *new: NewSegment
    ) -> Version:
        span = OffsetSpan(str(stream_id), seen + 1, merged)
        merge = Merge(dataset_id, new, (EntryMove(dataset_id, span, 1),))
        return register(self.transactions, merge)

    def save(self, *new: NewSegment) -> tuple[Version, list[UUID]]:
        """Register segments that no stream brought."""

        def work(tx: Transaction) -> tuple[Version, list[UUID]]:
            claims = segments.claim(tx, new)
            segments.raise_refusal(claims)
            version = versions.allocate(tx)
            segments.insert(tx, claims, version)
            return version, [claimed.segment_id for claimed in claims]

        return self.transactions.write(work)

    def claim(self) -> MergeTaskRow | None:
        """Poll for a task: in a batch, and alone if that cannot answer."""
        poll, lease_secs = Poll("worker", False), self.settings.lifetimes.claim_lease
        (polled,) = self.transactions.write(
            lambda tx: merge_claims.claim_batch(tx, [poll], lease_secs)
        )
        if polled is None:
            polled = self.transactions.write(
                lambda tx: merge_claims.claim_one(tx, poll, lease_secs)
            )
        return None if polled.claimed is None else polled.claimed.task

    def complete(self, task_id: UUID, output: NewSegment) -> str:
        """Complete a task; answers "DONE" or why not."""
        work = Completion(task_id, (output,))
        (answer,) = self.transactions.write(lambda tx: merge_completions.complete_batch(tx, [work]))
        if isinstance(answer, MetaError):
            raise answer
        return answer.reason if isinstance(answer, Rejected) else "DONE"

    def condemn(self, *keys: str) -> list[str]:
        question = Question(keys, is_own=True)
        judgement = self.transactions.write(
            lambda tx: orphans.condemn(tx, question, is_dry_run=False)
        )
        return list(judgement.condemned)

    def stop(self, stream_id: UUID, final_offset: int) -> None:
        end = Stop(final_offset, None, 1)
        self.transactions.write(lambda tx: stream_ends.stop(tx, stream_id, end))

    def reap(self, stream_id: UUID, offset: int) -> None:
        self.transactions.write(lambda tx: stream_ends.reap(tx, stream_id, offset, 1))

    def remove_entry(self, stream_id: UUID, dataset_id: UUID, merged: int) -> None:
        self.transactions.write(
            lambda tx: stream_ends.remove_entry(tx, stream_id, dataset_id, merged)
        )

    def find(self, name: str, *, as_of: int | None = None) -> Read:
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name], as_of_version=as_of)
        reply = segment_lookup_pb2.FindSegmentsResponse.FromString(
            self._lookup.FindSegments(request)
        )
        return Read(frozenset(one.id for one in reply.segments), reply.snapshot_version)

    def hand_out(self) -> list[str]:
        request = segment_deletion_pb2.GetTombstonedSegmentsForDeletionRequest()
        reply = self._deletion.GetTombstonedSegmentsForDeletion(request)
        return [one.segment_id for one in reply.segments]

    def confirm(self, *ids: str) -> segment_deletion_pb2.ConfirmTombstoneDeletionResponse:
        request = segment_deletion_pb2.ConfirmTombstoneDeletionRequest(segment_ids=ids)
        return self._deletion.ConfirmTombstoneDeletion(request)

    def pin(self, name: str, version: int) -> str:
        """Pin a version; returns the pin's id."""
        request = operations_pb2.PinVersionRequest(
            pin_id=str(uuid4()), owner="reader", dataset_name=name, version=version
        )
        return pins.pin_version(self._server, request).pin.id

    def renew(self, pin_id: str) -> str:
        request = operations_pb2.RenewPinRequest(pin_id=pin_id)
        return pins.renew_pin(self._server, request).pin.id

    def rows(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Read the tables themselves."""
        return self.transactions.read(
            lambda tx: [tuple(row) for row in tx.execute(text(statement), values)]
        )

    def execute(self, statement: str, **values: object) -> None:
        """Change the tables behind meta's back: the passing of time, mostly."""
        self.transactions.write(lambda tx: tx.execute(text(statement), values))

    def merged_offset(self, stream_id: UUID, dataset_id: UUID) -> int | None:
        entries = self.transactions.read(lambda tx: stream_datasets.of_stream(tx, stream_id))
        return entries.get(dataset_id)


def baby(
    stream_id: UUID, offset: int, *stamps: UUID, flush: int = 0, records: int = 10
) -> OffsetCommit:
    """Describe a commit; another flush is another baby."""
    return OffsetCommit(
        stream_id=stream_id,
        offset=offset,
        start_ns=1_000,
        end_ns=2_000,
        size_bytes=100,
        num_records=records,
        flush_id=flush.to_bytes(16) if flush else b"",
        dataset_ids=tuple(stamps),
        dataset_records=(),
    )


def new_segment(dataset_id: UUID, *, events: int = 10) -> NewSegment:
    """Describe a segment under a fresh key."""
    return _segment(dataset_id, merged_prefix(str(dataset_id)), f"{uuid4()}.parquet", events)


def output_of(dataset_id: UUID, task_id: UUID, attempt: int, *, events: int) -> NewSegment:
    """Describe what one attempt at a task wrote."""
    prefix = attempt_prefix(str(dataset_id), str(task_id), attempt)
    return _segment(dataset_id, prefix, f"{uuid4()}.parquet", events)


def attempt_of(work: Callable[[], object]) -> object:
    """Run a call; returns its answer, or the error of its refusal."""
    try:
        return work()
    except MetaError as error:
        return error


def _segment(dataset_id: UUID, prefix: str, name: str, events: int) -> NewSegment:
    return NewSegment(
        dataset_id, 1_000, 2_000, 500, 100, events, prefix, name, join_key(prefix, name)
    )


def server_parts(transactions: Transactions, settings: Settings) -> ServerParts:
    """The parts of a server without its event loop."""
    return ServerParts(
        transactions,
        settings,
        ChangeFeed(transactions, settings.watchers_max),
        MergeRegistrar(transactions, settings.database.commit_batches),
        TokenHasher(settings.peppers),
        MergeDebts(transactions, settings.merge_debt_segments, settings.merge_policy),
        ProcessReports(transactions),
    )
