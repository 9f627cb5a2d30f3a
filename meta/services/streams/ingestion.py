"""IngestionService: the calls of collectors and direct writers."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from meta import access
from meta.commits.group_commit import Committer
from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, TokenUnknown
from meta.services.messages import checks, convert, process_reports, reply_bounds
from meta.services.streams import known_workers, saved_segments
from meta.services.streams.stream_callers import StreamCallers
from meta.services.streams.unstamped_commits import UnstampedCommits
from meta.store.access import token_secrets
from meta.store.access.token_secrets import TokenHasher
from meta.store.catalog import dataset_layouts, datasets
from meta.store.engine.driver_statements import Execute, single_statements
from meta.store.engine.pool import Conflict, Transaction
from meta.store.streams import (
    commits,
    routing,
    stream_datasets,
    streams,
    tokens,
)
from meta.store.streams.commits import Committed, OffsetCommit
from meta.store.streams.stream_datasets import NewEntry
from meta.store.streams.tokens import IngestToken
from meta.store.versions import versions
from meta.v1 import common_pb2
from meta.v1 import ingestion_pb2 as pb

SEGMENTS_MAX = 1_000
# The subject of a reply of DownloadConfig that is too large, and the calls that return it.
_DATASETS_INSTEAD = (
    "datasets",
    "call DownloadConfig with omit_datasets, and CatalogService.ListDatasets for pages of datasets",
)
STAMPS_MAX = 1_000
ABOUT_CHARACTERS_MAX = 4_096
FLUSH_ID_BYTES = 16


class IngestionServicer:
    """IngestionService; see docs/contract.md."""

    def __init__(
        self, transactions: Transactions, settings: Settings, reports: ProcessReports
    ) -> None:
        self._transactions = transactions
        self._settings = settings
        self._reports = reports
        self._hasher = TokenHasher(settings.peppers)
        self._callers = StreamCallers(transactions)
        self._unstamped = UnstampedCommits(transactions)
        self._committer: Committer[OffsetCommit, Committed, Execute] = Committer(
            name="commit_offset",
            batches_max=settings.database.commit_batches,
            # A batch of commits is one statement, which needs no round trips to begin and commit.
            begin=lambda: single_statements(transactions.database),
            keys=lambda commit: (commit.stream_id,),
            run_batch=commits.commit_batch,
            run_alone=lambda commit: transactions.write(lambda tx: commits.commit_one(tx, commit)),
        )

    def DownloadConfig(self, request: pb.DownloadConfigRequest) -> pb.DownloadConfigResponse:
        """The object store, the datasets, and what operators have set for the worker."""
        worker_id = checks.text(request.worker_id, "worker_id")
        report = process_reports.find_report(self._reports, request)

        def work(tx: Transaction) -> tuple[pb.DownloadConfigResponse, bool]:
            if report is not None:
                process_reports.add(self._reports, tx, report)
            reply_of = self._place if request.omit_datasets else self._place_and_datasets
            return known_workers.add_settings(tx, reply_of(tx), worker_id)

        reply, is_noted = self._transactions.read(work)
        if not is_noted:
            known_workers.note(self._transactions, worker_id)
        content = reply.SerializeToString(deterministic=True)
        reply.config_version = hashlib.sha256(content).hexdigest()
        if reply.ByteSize() > convert.REPLY_BYTES_MAX:
            # Fields that the published contract does not have; the catalog has them too.
            for dataset in reply.other_datasets:
                dataset.ClearField("sharding_fields")
                dataset.ClearField("promoted_columns")
        reply_bounds.check_size(reply, len(reply.other_datasets), *_DATASETS_INSTEAD)
        return reply

    def SaveSegments(self, request: pb.SaveSegmentsRequest) -> pb.SaveSegmentsResponse:
        """Register complete segments, all or none, at one version."""
        if not request.segments:
            raise InvalidArgument("segments must not be empty", field="segments")
        stores = self._settings.stores
        new = convert.new_segments(stores, request.segments, "segments", SEGMENTS_MAX)
        event_claims = saved_segments.checked_claims(request, new)
        ids = self._transactions.write(lambda tx: saved_segments.save(tx, new, event_claims))
        return pb.SaveSegmentsResponse(ids=[str(i) for i in ids])

    def RegisterForStream(
        self, request: pb.RegisterForStreamRequest
    ) -> pb.RegisterForStreamResponse:
        """Admit a token on its collector's stream, with an entry for each dataset it routes to."""
        collector_id = checks.name(request.collector_id, "collector_id")
        about = checks.text(
            request.collector_string,
            "collector_string",
            characters_max=ABOUT_CHARACTERS_MAX,
        )
        if not token_secrets.is_well_formed(request.ingest_token):
            raise TokenUnknown(token_secrets.UNKNOWN_MESSAGE)

        def work(tx: Transaction) -> pb.RegisterForStreamResponse:
            digests = self._hasher.hash_function(tx)(request.ingest_token).all()
            token = _lock_token(tx, digests)
            return _admit(tx, token, collector_id, about)

        reply = self._transactions.write(work)
        # Its first commit then needs no query.
        self._callers.remember(UUID(reply.stream_id))
        prefix = convert.stream_place(self._settings.location, reply.stream_id)
        reply.config.cloud_object_prefix.CopyFrom(prefix)
        reply.config.flush_timeout_ms = self._settings.stream.flush_timeout_ms
        reply.config.max_segment_size_bytes = self._settings.stream.max_segment_size_bytes
        return reply

    async def CommitOffset(self, request: pb.CommitOffsetRequest) -> pb.CommitOffsetResponse:
        """Acknowledge the baby segment at one offset."""
        commit = _commit(request)
        await self._callers.check(commit.stream_id)
        if not commit.dataset_ids and commit.num_records:
            await self._unstamped.check(commit.stream_id, commit.offset)
        answer = await self._committer.submit(commit)
        reply = pb.CommitOffsetResponse(committed_offset=answer.committed_offset)
        reply.deleted_dataset_ids.extend(map(str, answer.deleted_dataset_ids))
        reply.foreign_dataset_ids.extend(map(str, answer.foreign_dataset_ids))
        return reply

    def _place(self, tx: Transaction) -> pb.DownloadConfigResponse:
        """The location of objects: the same cost however many datasets there are."""
        default = datasets.find_default(tx)
        stores = self._settings.stores
        return pb.DownloadConfigResponse(
            # None: the caller may not see it.
            cloud_object_prefix=convert.object_prefix(stores.default, "")
            if default is None
            else convert.merged_place(stores, default.id),
            named_stores=[
                common_pb2.NamedStore(name=store.name, bucket=convert.bucket(store.location))
                for store in stores.named_stores
            ],
        )

    def _place_and_datasets(self, tx: Transaction) -> pb.DownloadConfigResponse:
        reply_bounds.check_number(datasets.count_visible(tx), *_DATASETS_INSTEAD)
        live = datasets.list_live(tx)
        layouts = dataset_layouts.read(tx, [d.id for d in live])
        infos = {d.id: convert.dataset_info(self._settings.stores, d, layouts[d.id]) for d in live}
        default = next((infos.pop(d.id) for d in live if d.is_default), None)
        reply = self._place(tx)
        if default is not None:
            reply.default_dataset.CopyFrom(default)
        reply.other_datasets.extend(infos.values())
        return reply


def _lock_token(tx: Transaction, digests: Sequence[bytes]) -> IngestToken:
    """Lock an active token and the datasets of its routing against changes."""
    shown = tokens.find_by_digests(tx, digests)
    if shown is not None and shown.is_accepted:
        locked = routing.lock_token(tx, shown.token)
        if locked is not None and locked.revoked_at is None:
            return locked
    raise TokenUnknown(token_secrets.UNKNOWN_MESSAGE)


def _admit(
    tx: Transaction, token: IngestToken, collector_id: str, about: str
) -> pb.RegisterForStreamResponse:
    """Admit a token on its collector's stream; the reply has no configuration yet."""
    owner = streams.owner_of(access.current.get())
    # A restored database still has streams that no collector may continue.
    versions.check_room(tx)
    stream_id, created = streams.find_or_create(tx, collector_id, about, owner)
    head = streams.lock_heads(tx, [stream_id])[stream_id]
    if head.is_stopped:
        # The stream has been stopped; the next run creates another one.
        raise Conflict("40001")
    streams.touch(tx, stream_id)
    is_new = routing.add_token(tx, stream_id, token.id)
    if is_new:
        routing.begin_period(tx, token.id, token.routing, [head])
    entries = stream_datasets.create_missing(
        tx,
        [NewEntry(stream_id, d, head.committed_offset) for d in token.routing.datasets()],
    )
    if created or is_new or entries:
        streams.find_locked(tx, stream_id)
        version = versions.allocate(tx)
        streams.stamp(tx, [stream_id], version)
        stream_datasets.stamp(tx, entries, version)
    return pb.RegisterForStreamResponse(
        stream_id=str(stream_id),
        token_id=str(token.id),
        next_offset=head.committed_offset + 1,
        routing=convert.routing_message(token.routing),
        created=created,
    )


def _commit(request: pb.CommitOffsetRequest) -> OffsetCommit:
    """Check a commit. Written flat, because this is the hottest call."""
    flush_id = request.flush_id
    if flush_id and len(flush_id) != FLUSH_ID_BYTES:
        raise InvalidArgument(
            f"flush_id has {len(flush_id)} bytes, not {FLUSH_ID_BYTES}", field="flush_id"
        )
    start_ns, end_ns = request.start_time, request.end_time
    if start_ns > end_ns:
        raise InvalidArgument(
            f"start_time {start_ns} is after end_time {end_ns}", field="start_time"
        )
    num_records = checks.count(request.num_records, "num_records", high=checks.EVENTS_MAX)
    stamps, records = _stamps(request)
    return OffsetCommit(
        stream_id=_stream_id(request.stream_id),
        offset=checks.count(request.committed_offset, "committed_offset"),
        start_ns=checks.count(start_ns, "start_time"),
        end_ns=end_ns,
        size_bytes=checks.size(request.size_bytes, "size_bytes"),
        num_records=num_records,
        flush_id=flush_id,
        dataset_ids=stamps,
        dataset_records=records,
        crc32c=request.crc32c if request.HasField("crc32c") else None,
    )


# A collector sends the same id with every flush; parsing it is a fifth of the cost of the check.
@lru_cache(maxsize=4_096)
def _stream_id(value: str) -> UUID:
    return checks.uuid(value, "stream_id")


def _stamps(
    request: pb.CommitOffsetRequest,
) -> tuple[tuple[UUID, ...], tuple[int, ...]]:
    """The datasets of a baby, and the number of records of each if it is given."""
    if not request.dataset_ids and not request.dataset_records:
        return (), ()
    checks.at_most(request.dataset_ids, "dataset_ids", STAMPS_MAX)
    stamps = tuple([checks.uuid(d, "dataset_ids") for d in request.dataset_ids])
    checks.distinct(stamps, "dataset_ids")
    records = tuple(request.dataset_records)
    if records and len(records) != len(stamps):
        raise InvalidArgument(
            f"dataset_records has {len(records)} items for {len(stamps)} dataset_ids",
            field="dataset_records",
        )
    for count in records:
        checks.count(count, "dataset_records", high=request.num_records)
    return stamps, records
