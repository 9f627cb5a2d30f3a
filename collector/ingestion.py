"""Asynchronous client of the meta calls that the collector uses."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from collector.records.json_times import TimestampUnit
from dataplane.baby_facts import CommitFacts
from dataplane.enforced_columns import read_enforced, read_window
from meta.client import MetaClient, location
from meta.errors import NotFound
from meta.v1 import ingest_token_pb2 as tokens_pb
from meta.v1 import ingestion_pb2 as pb
from meta.v1 import nursery_pb2 as nursery_pb
from meta.v1 import operations_pb2 as operations_pb
from segments.location import StoreLocation
from segments.parquet.spec import PromotedColumn
from segments.signals import TRAITS, Signal
from segments.typed.window_check import WindowCheck

# Calls wait in threads: one commit and a few registrations at once; and checks of tokens by
# themselves, so that a flood of unknown ones holds up no commit.
_THREADS = 8
_CHECK_THREADS = 8
_DEADLINE_SECS = 10.0
# One GetUsage takes as many.
_USAGE_DATASETS_MAX = 1_000

_UNITS: dict[int, TimestampUnit] = {
    operations_pb.TIMESTAMP_UNIT_SECONDS: "s",
    operations_pb.TIMESTAMP_UNIT_MILLISECONDS: "ms",
    operations_pb.TIMESTAMP_UNIT_MICROSECONDS: "us",
    operations_pb.TIMESTAMP_UNIT_NANOSECONDS: "ns",
}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SignalRouting:
    """Routing of a token's signals, as dataset ids; empty = refused."""

    logs: str
    metrics: str
    traces: str

    def dataset_id(self, signal: Signal) -> str:
        """Dataset that a signal's records belong to."""
        dataset_id: str = getattr(self, signal)
        return dataset_id


@dataclass(frozen=True, slots=True)
class ValidToken:
    """A valid token, as meta knew it when it was asked."""

    token_id: str
    routing: SignalRouting


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Limits that a dataset sets for each ingest token; 0 = the collector's default, none.

    `rejects_since` is the version of the dataset's columns if it rejects records by them, else 0.
    `timestamp_unit` is that of times that are numbers in JSON records; None = by their magnitude.
    `window` is that of a dataset that refuses events outside; None = it refuses none.
    """

    bytes_per_sec: int = 0
    exports_in_flight: int = 0
    memory_bytes: int = 0
    event_age_max_secs: int = 0
    event_lead_max_secs: int = 0
    rejects_since: int = 0
    timestamp_unit: TimestampUnit | None = None
    window: WindowCheck | None = None

    @classmethod
    def of(cls, usage: operations_pb.DatasetUsage) -> "IngestLimits":
        """Read the limits from meta's message."""
        message = usage.ingest_limits
        return cls(
            message.bytes_per_sec,
            message.exports_in_flight,
            message.memory_bytes,
            message.event_age_max_secs,
            message.event_lead_max_secs,
            usage.rejects_since,
            _UNITS.get(usage.timestamp_unit),
            _window(usage),
        )


@dataclass(frozen=True, slots=True)
class MonthlyUsage:
    """Records that a dataset took in a month (YYYY-MM, UTC), and its limit; -1 = unlimited."""

    dataset_id: str
    month: str
    records: int
    limit: int
    dataset_name: str = ""
    ingest_limits: IngestLimits = IngestLimits()
    # Segments that wait for a merge, and the number from which exports are held; 0 = none.
    merge_debt: int = 0
    merge_debt_max: int = 0

    @property
    def name(self) -> str:
        """The dataset's name, or its id if a meta of 0.1.0 does not send it."""
        return self.dataset_name or self.dataset_id

    @property
    def held_share(self) -> float:
        """The share of exports that is refused: half at the bound of merge debt, all at twice."""
        if self.merge_debt_max <= 0 or self.merge_debt < self.merge_debt_max:
            return 0.0
        return min(1.0, self.merge_debt / self.merge_debt_max / 2)


@dataclass(frozen=True, slots=True)
class Registration:
    """The stream that meta gave this collector, and how to write it."""

    stream_id: str
    token_id: str
    store: StoreLocation
    flush_timeout_secs: float
    segment_size_bytes_max: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class CommittedFlushes:
    """Committed flush ids by offset; meta keeps them for `kept_secs` after a baby was reaped."""

    flush_ids: Mapping[int, bytes]
    kept_secs: float


class Ingestion:
    """Meta's calls on the collector's event loop; all raise `meta.errors` classes."""

    def __init__(self, client: MetaClient, collector_id: str) -> None:
        self.collector_id = collector_id
        self._client = client
        self._threads = ThreadPoolExecutor(_THREADS, "meta")
        self._check_threads = ThreadPoolExecutor(_CHECK_THREADS, "check")

    def close(self) -> None:
        """Shut down the threads; calls under way end with their deadline."""
        for threads in (self._threads, self._check_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    async def register(self, token_secret: str) -> Registration:
        """Add a token to this collector's stream, which is created if there is none."""
        request = pb.RegisterForStreamRequest(
            collector_string="segplane-collector",
            collector_id=self.collector_id,
            ingest_token=token_secret,
        )
        reply = await self._call(
            lambda: self._client.ingestion.RegisterForStream(request, timeout=_DEADLINE_SECS)
        )
        return Registration(
            stream_id=reply.stream_id,
            token_id=reply.token_id,
            store=location(reply.config.cloud_object_prefix.bucket),
            flush_timeout_secs=reply.config.flush_timeout_ms / 1000,
            segment_size_bytes_max=reply.config.max_segment_size_bytes,
            next_offset=reply.next_offset,
        )

    async def validate(self, token_secret: str) -> ValidToken:
        """Validate a token secret and read its routing; raises TokenUnknown."""
        request = tokens_pb.ValidateIngestTokenRequest(plaintext_token=token_secret)
        reply = await asyncio.get_running_loop().run_in_executor(
            self._check_threads,
            lambda: self._client.ingest_token.ValidateIngestToken(request, timeout=_DEADLINE_SECS),
        )
        datasets = {
            signal: getattr(reply.routing, row.routing_field) for signal, row in TRAITS.items()
        }
        return ValidToken(reply.token_id, SignalRouting(**datasets))

    async def commit(self, stream_id: str, offset: int, facts: CommitFacts) -> frozenset[str]:
        """Commit the baby at `offset`; returns the stamped datasets that take no records of it."""
        request = facts.request(stream_id, offset)
        reply = await self._call(
            lambda: self._client.ingestion.CommitOffset(request, timeout=_DEADLINE_SECS)
        )
        return frozenset((*reply.deleted_dataset_ids, *reply.foreign_dataset_ids))

    async def committed_flushes(
        self, stream_id: str, first_offset: int, last_offset: int
    ) -> CommittedFlushes:
        """Read which flush was committed at each offset of a range, as far as meta knows."""
        request = operations_pb.GetCommittedFlushesRequest(
            stream_id=stream_id, first_offset=first_offset, last_offset=last_offset
        )
        reply = await self._call(
            lambda: self._client.operations.GetCommittedFlushes(request, timeout=_DEADLINE_SECS)
        )
        return CommittedFlushes({f.offset: f.flush_id for f in reply.flushes}, reply.kept_secs)

    async def usages(self, dataset_ids: Sequence[str]) -> list[MonthlyUsage]:
        """Read this month's records of each dataset; a deleted one has no limit.

        Whether a dataset still exists is checked at commit, not here.
        """
        answers: list[MonthlyUsage] = []
        remaining = list(dataset_ids)
        while page := remaining[:_USAGE_DATASETS_MAX]:
            request = operations_pb.GetUsageRequest(dataset_ids=page)
            try:
                reply = await self._call(partial(self._get_usage, request))
            except NotFound as gone:
                dataset_id = gone.metadata["dataset_id"]
                remaining.remove(dataset_id)
                answers.append(MonthlyUsage(dataset_id, "", 0, -1))
                continue
            answers += map(_usage, reply.usage)
            del remaining[:_USAGE_DATASETS_MAX]
        return answers

    async def enforced_columns(self, dataset_id: str) -> tuple[int, tuple[PromotedColumn, ...]]:
        """Read by which columns a dataset rejects records, and their version; 0 = it rejects none.

        Raises NotFound.
        """
        request = operations_pb.GetUsageRequest(dataset_ids=[dataset_id], columns_of=dataset_id)
        (usage,) = (await self._call(partial(self._get_usage, request))).usage
        return usage.rejects_since, read_enforced(usage.enforced_columns)

    def _get_usage(self, request: operations_pb.GetUsageRequest) -> operations_pb.GetUsageResponse:
        return self._client.operations.GetUsage(request, timeout=_DEADLINE_SECS)

    async def mark_stopped(self, stream_id: str, final_offset: int) -> None:
        """Mark the stream as stopped at `final_offset`, the offset of its stop message."""
        request = nursery_pb.MarkStreamStoppedRequest(
            stream_id=stream_id,
            final_offset=final_offset,
            reason=nursery_pb.STOP_REASON_CLIENT,
        )
        await self._call(
            lambda: self._client.nursery.MarkStreamStopped(request, timeout=_DEADLINE_SECS)
        )

    async def _call(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _window(usage: operations_pb.DatasetUsage) -> WindowCheck | None:
    window, columns = read_window(usage.deduplication), read_enforced([usage.deduplication_column])
    return WindowCheck(window, columns[0]) if window is not None and columns else None


def _usage(message: operations_pb.DatasetUsage) -> MonthlyUsage:
    return MonthlyUsage(
        message.dataset_id,
        message.month,
        message.records,
        message.limit,
        message.dataset_name,
        IngestLimits.of(message),
        message.merge_debt,
        message.merge_debt_max,
    )
