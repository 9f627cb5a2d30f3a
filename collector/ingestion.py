"""Asynchronous client of the meta calls that the collector uses."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from collector.records.json_times import TimestampUnit
from dataplane.baby_facts import CommitFacts
from dataplane.enforced_columns import read_enforced, read_window
from meta.client import MetaClient
from meta.errors import NotFound
from meta.telemetry import about
from meta.v1 import ingest_token_pb2 as tokens_pb
from meta.v1 import ingestion_pb2 as pb
from meta.v1 import nursery_pb2 as nursery_pb
from meta.v1 import operations_pb2 as operations_pb
from segments.dataset_names import in_tenant
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
class ValidToken:
    """A valid token, and the datasets of its signals, as meta knew them; "" = it takes none."""

    token_id: str
    dataset_ids: Mapping[Signal, str]


@dataclass(frozen=True, slots=True)
class MonthlyUsage:
    """Meta's message about a dataset: records of a month (UTC), limits, and rules for records.

    `window` is that of a dataset that refuses events outside; None = it refuses none.
    """

    message: operations_pb.DatasetUsage
    window: WindowCheck | None = None

    @property
    def name(self) -> str:
        """The dataset's name in its tenant, or its id as long as meta has not sent it."""
        return in_tenant(self.message.dataset_name) or self.message.dataset_id

    @property
    def timestamp_unit(self) -> TimestampUnit | None:
        """Unit of times that are numbers in JSON records; None = by their magnitude."""
        return _UNITS.get(self.message.timestamp_unit)

    @property
    def held_share(self) -> float:
        """The share of exports that is refused: half at the bound of merge debt, all at twice."""
        debt = self.message.merge_debt
        if not debt or not 0 < (bound := self.message.merge_debt_max) <= debt:
            return 0.0
        return min(1.0, debt / bound / 2)


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

    async def register(self, token_secret: str) -> pb.RegisterForStreamResponse:
        """Add a token to this collector's stream, which is created if there is none."""
        request = pb.RegisterForStreamRequest(
            collector_string="segplane-collector",
            collector_id=self.collector_id,
            ingest_token=token_secret,
        )
        return await self._call(
            lambda: self._client.ingestion.RegisterForStream(request, timeout=_DEADLINE_SECS)
        )

    async def validate(self, token_secret: str) -> ValidToken:
        """Validate a token secret and read its routing; raises TokenUnknown."""
        request = tokens_pb.ValidateIngestTokenRequest(plaintext_token=token_secret)
        reply = await asyncio.get_running_loop().run_in_executor(
            self._check_threads,
            copy_context().run,
            lambda: self._client.ingest_token.ValidateIngestToken(request, timeout=_DEADLINE_SECS),
        )
        dataset_ids = {
            signal: getattr(reply.routing, row.routing_field) for signal, row in TRAITS.items()
        }
        return ValidToken(reply.token_id, dataset_ids)

    async def commit(self, stream_id: str, offset: int, facts: CommitFacts) -> frozenset[str]:
        """Commit the baby at `offset`; returns the stamped datasets that take no records of it."""
        request = facts.request(stream_id, offset)
        reply = await self._call(
            lambda: self._client.ingestion.CommitOffset(request, timeout=_DEADLINE_SECS)
        )
        return frozenset((*reply.deleted_dataset_ids, *reply.foreign_dataset_ids))

    async def committed_flushes(
        self, stream_id: str, first_offset: int, last_offset: int
    ) -> operations_pb.GetCommittedFlushesResponse:
        """Read which flush was committed at each offset of a range, as far as meta knows.

        Meta knows it for `kept_secs` after a baby was reaped.
        """
        request = operations_pb.GetCommittedFlushesRequest(
            stream_id=stream_id, first_offset=first_offset, last_offset=last_offset
        )
        return await self._call(
            lambda: self._client.operations.GetCommittedFlushes(request, timeout=_DEADLINE_SECS)
        )

    async def usages(self, dataset_ids: Sequence[str]) -> list[MonthlyUsage]:
        """Read this month's records of each dataset; a deleted one has no limit.

        Whether a dataset still exists is checked at commit, not here.
        """
        answers: list[MonthlyUsage] = []
        remaining = list(dataset_ids)
        while page := remaining[:_USAGE_DATASETS_MAX]:
            request = operations_pb.GetUsageRequest(dataset_ids=page)
            try:
                with about(page):
                    reply = await self._call(partial(self._get_usage, request))
            except NotFound as gone:
                dataset_id = gone.metadata["dataset_id"]
                remaining.remove(dataset_id)
                deleted = operations_pb.DatasetUsage(dataset_id=dataset_id, limit=-1)
                answers.append(MonthlyUsage(deleted))
                continue
            answers += [MonthlyUsage(message, _window(message)) for message in reply.usage]
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
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, copy_context().run, call
        )


def _window(usage: operations_pb.DatasetUsage) -> WindowCheck | None:
    window, columns = read_window(usage.deduplication), read_enforced([usage.deduplication_column])
    return WindowCheck(window, columns[0]) if window is not None and columns else None
