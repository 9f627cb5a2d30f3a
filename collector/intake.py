"""Admission, validation and buffering of one export, the same for every protocol."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from collector.auth import TokenCache
from collector.buffer import Buffer, PendingExport
from collector.deadlines import Deadlines
from collector.dedupe import CommittedDigests
from collector.export import TooManyRecords, digest_of, read_facts
from collector.flusher import not_routed
from collector.ingestion import ValidToken
from collector.partial_success import PartialSuccess, reject_damaged
from collector.quotas import Quotas
from collector.refusal import Refusal, Refused, unavailable
from meta.metrics import EXPORT_BYTES, EXPORTS, REJECTED_RECORDS
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

# Bodies read at once while the buffer is more than half full: they are not in its count yet.
CAREFUL_READS_MAX = 32
# An export of more is looked through in a thread, so that it holds up no others.
RECORDS_AT_ONCE_MAX = 10_000


@dataclass(slots=True)
class Intake:
    """Takes exports in and returns once each is committed; raises Refused otherwise."""

    tokens: TokenCache
    quotas: Quotas
    buffer: Buffer
    digests: CommittedDigests
    export_size_bytes_max: int
    export_records_max: int
    export_timeout_secs: float
    concurrent_exports_max: int
    is_open: bool = False
    is_meta_reachable: bool = True
    _pending: dict[bytes, PendingExport] = field(default_factory=dict)
    _deadlines: Deadlines = field(init=False)
    _under_way: int = 0
    _reads: int = 0

    def __post_init__(self) -> None:
        self._deadlines = Deadlines(self.export_timeout_secs)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count one body that is being read; few at once while the buffer fills up."""
        if self.buffer.is_half_full() and self._reads >= CAREFUL_READS_MAX:
            raise unavailable("collector's buffer is filling up")
        self._reads += 1
        try:
            yield
        finally:
            self._reads -= 1

    def may_read(self, signal: Signal, token_secret: str) -> bool:
        """Whether a body may be read without asking or waiting for anything first."""
        token = self.tokens.peek(token_secret)
        return (
            self.is_open
            and self._under_way < self.concurrent_exports_max
            and not self.buffer.is_half_full()
            and token is not None
            and self.quotas.may_take(token.routing.dataset_id(signal))
        )

    async def admit(self, signal: Signal, token_secret: str, size_bytes: int = 0) -> ValidToken:
        """Check what can be checked before the body is read."""
        self._require_open()
        if self._under_way > self.concurrent_exports_max:
            raise unavailable("too many exports are under way")
        token = await self.tokens.check(token_secret)
        dataset_id = token.routing.dataset_id(signal)
        if not dataset_id:
            raise Refused(not_routed(signal))
        await self.quotas.check(dataset_id)
        self._require_room(token, size_bytes)
        return token

    async def accept(self, signal: Signal, token_secret: str, payload: bytes) -> int:
        """Take one export; once this returns its records are committed.

        Returns how many log records, spans or data points were damaged and left out.
        """
        self._under_way += 1
        try:
            token = await self.admit(signal, token_secret, len(payload))
            kept, facts = await self._read(signal, payload)
            # Again: reading may have taken a while, and what is added after the last flush of a
            # closing collector would wait for ever.
            self._require_open()
            self._require_room(token, len(payload))
            # Over the payload as sent, so that a resend of a damaged export has the same digest.
            digest = digest_of(token.token_id, signal, payload)
            outcome = await self._accept(token, signal, token_secret, kept.payload, digest, facts)
        finally:
            self._under_way -= 1
        EXPORTS.labels(signal, outcome).inc()
        EXPORT_BYTES.labels(signal).inc(len(payload))
        if kept.num_rejected:
            REJECTED_RECORDS.labels(signal).inc(kept.num_rejected)
        return kept.num_rejected

    async def _read(self, signal: Signal, payload: bytes) -> tuple[PartialSuccess, PayloadFacts]:
        """Validate an export; of a damaged one take what is whole."""
        try:
            return PartialSuccess(payload, 0), await self._facts(signal, payload)
        except TooManyRecords:
            raise
        except Refused:
            # In a thread, since it takes a while and is rare.
            kept = await asyncio.to_thread(reject_damaged, signal, payload)
            facts = await self._facts(signal, kept.payload)
            if not facts.num_records:
                raise
            return kept, facts

    async def _facts(self, signal: Signal, payload: bytes) -> PayloadFacts:
        records_max = self.export_records_max
        try:
            return read_facts(signal, payload, min(RECORDS_AT_ONCE_MAX, records_max))
        except TooManyRecords as many:
            if many.num_parts > records_max:
                raise TooManyRecords(records_max, many.num_parts) from None
        return await asyncio.to_thread(read_facts, signal, payload, records_max)

    async def _accept(
        self,
        token: ValidToken,
        signal: Signal,
        token_secret: str,
        payload: bytes,
        digest: bytes,
        facts: PayloadFacts,
    ) -> str:
        if not facts.num_records:
            return "empty"
        if digest in self.digests:
            return "duplicate"
        pending = self._pending.get(digest)
        if pending is not None:
            await self._answer(pending)
            return "duplicate"
        pending = self._add(token, signal, token_secret, payload, digest, facts)
        await self._answer(pending)
        return "accepted"

    def _add(
        self,
        token: ValidToken,
        signal: Signal,
        token_secret: str,
        payload: bytes,
        digest: bytes,
        facts: PayloadFacts,
    ) -> PendingExport:
        outcome = asyncio.get_running_loop().create_future()
        allowance = self.quotas.take(token.routing.dataset_id(signal), facts.num_records)
        export = PendingExport(
            token_secret, token.token_id, signal, payload, digest, facts, time.time_ns(), outcome
        )
        self._pending[digest] = export
        self.buffer.add(export)

        def answered(done: "asyncio.Future[Refusal | None]") -> None:
            del self._pending[digest]
            if done.cancelled() or done.result() is not None:
                allowance.own_records -= facts.num_records

        outcome.add_done_callback(answered)
        return export

    async def _answer(self, export: PendingExport) -> None:
        if not export.outcome.done():
            await self._deadlines.wait(export.outcome)
        if not export.outcome.done():
            raise unavailable("export was not committed in time; send it again")
        refusal = export.outcome.result()
        if refusal is not None:
            raise Refused(refusal)

    def count_refused(self, signal: Signal, refusal: Refusal) -> None:
        """Count an export that was not taken, wherever on its way it was refused."""
        EXPORTS.labels(signal, refusal.outcome).inc()

    def _require_open(self) -> None:
        if not self.is_open:
            raise unavailable("collector is starting or stopping")

    def _require_room(self, token: ValidToken, size_bytes: int) -> None:
        if not self.buffer.has_room(token.token_id, size_bytes):
            raise unavailable("collector's buffer is full")
