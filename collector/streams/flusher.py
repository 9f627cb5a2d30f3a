"""Flushes the buffer to the current stream: a baby of payloads by token and signal, with stamps.

A flush whose stream has ended is stamped again for the next stream, with the routing of that
moment; none of its exports was acknowledged before.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import urandom

import structlog

from collector.auth import CHECK_LATER, UNKNOWN, TokenCache
from collector.config import Settings
from collector.ingestion import Ingestion, ValidToken
from collector.otlp.export import CommittedDigests
from collector.refusal import Refusal, Refused, not_routed, unavailable
from collector.retry import Backoff
from collector.streams.babies import StreamBabies
from collector.streams.buffer import Buffer, PendingExport
from collector.streams.stream import (
    FLUSH_ID_BYTES,
    META,
    TRANSIENT,
    Displaced,
    StreamEnded,
    StreamTail,
    StreamWriter,
    Written,
    read_recent_digests,
    stop_baby,
)
from dataplane.costs.charges import charge_flush
from meta.client import location
from meta.errors import Code, MetaError, TokenUnknown
from meta.self_report import Progress
from meta.telemetry import about
from meta.v1.ingestion_pb2 import RegisterForStreamResponse
from segments.baby import Baby, BabyKind, Export, TokenPart
from segments.signals import Signal
from segments.store.open import open_store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _StampedBaby:
    """A baby for one stream and the exports in it."""

    stream: StreamWriter
    baby: Baby
    exports: tuple[PendingExport, ...]
    tokens: dict[str, ValidToken]


class Flusher:
    """Owns the current stream; one per process, on its event loop."""

    def __init__(
        self,
        settings: Settings,
        ingestion: Ingestion,
        tokens: TokenCache,
        buffer: Buffer,
        digests: CommittedDigests,
    ) -> None:
        self.progress = Progress()
        self._settings = settings
        self._ingestion = ingestion
        self._tokens = tokens
        self._buffer = buffer
        self._digests = digests
        self._threads = ThreadPoolExecutor(settings.overlapping_puts + 2, "store")
        self._opening = asyncio.Lock()
        self._stream: StreamWriter | None = None

    async def run(self) -> None:
        """Flush until the buffer is drained and every flush has ended."""
        slots = asyncio.Semaphore(self._settings.overlapping_puts)
        async with asyncio.TaskGroup() as flushes:
            while True:
                # A slot first: while all puts are under way, the batch keeps growing.
                await slots.acquire()
                exports = await self._buffer.next_batch()
                if not exports:
                    return
                flush = flushes.create_task(self._flush(exports))
                flush.add_done_callback(lambda _: slots.release())

    async def stop(self) -> None:
        """Write and commit the stop message and mark the stream stopped."""
        if self._stream is None:
            return
        while True:
            try:
                written = await self._stream.write(stop_baby(time.time_ns()))
            except Displaced:
                continue
            except StreamEnded:
                return
            await self._stream.tail.mark_stopped(written.offset)
            log.info("stream_stopped", stream_id=self._stream.stream_id, offset=written.offset)
            return

    def close(self) -> None:
        """Shut down the store's threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def reopen(self) -> None:
        """Register and open the stream again at the next flush: its objects are elsewhere now.

        Flushes under way end in the stream in which they began, as those of two incarnations do.
        """
        self._stream = None

    async def _flush(self, exports: list[PendingExport]) -> None:
        """Write one batch and answer each of its exports."""
        try:
            await self._write(exports)
        except Exception as error:
            name = type(error).__name__
            log.exception("flush_failed", exports=len(exports), error=name)
            self.progress.failed(f"a flush failed: {name}")
            _refuse(exports, unavailable("export could not be committed").refusal)
        finally:
            for export in exports:
                export.release()

    async def _write(self, exports: Sequence[PendingExport]) -> None:
        while stamped := await self._stamp(exports):
            try:
                with about(part.dataset_id for part in stamped.baby.parts):
                    self._answer(stamped, await stamped.stream.write(stamped.baby))
            except StreamEnded:
                log.info("stream_ended", stream_id=stamped.stream.stream_id)
                if self._stream is stamped.stream:
                    self._stream = None
            except Displaced as displaced:
                log.info("flush_displaced", at=str(displaced))
            else:
                return
            exports = stamped.exports

    def _answer(self, stamped: _StampedBaby, written: Written) -> None:
        log.info(
            "baby_committed",
            stream_id=stamped.stream.stream_id,
            offset=written.offset,
            exports=len(stamped.exports),
            records=stamped.baby.num_records,
            size_bytes=written.size_bytes,
        )
        self.progress.made("committed a baby segment")
        charge_flush(stamped.baby, written.deleted_dataset_ids)
        stored = [each for each in stamped.exports if not _refuse_deleted(each, stamped, written)]
        self._digests.add(export.digest for export in stored)
        for export in stored:
            export.resolve(None)

    async def _stamp(self, exports: Sequence[PendingExport]) -> _StampedBaby | None:
        """Stamp the exports that may still be written, refuse the others; None if none is left."""
        while True:
            tokens = await self._checked(exports)
            exports = [export for export in exports if not export.outcome.done()]
            if not exports:
                return None
            stream = await self._registered({export.token_secret for export in exports}, exports)
            # This follows registration, because opening a stream reads the digests committed on it.
            for export in exports:
                if export.digest in self._digests:
                    export.resolve(self._digests.judged_otherwise(export.digest))
            if stream is None or any(export.outcome.done() for export in exports):
                continue
            baby = baby_of(exports, tokens, time.time_ns())
            return _StampedBaby(stream, baby, tuple(exports), tokens)

    async def _checked(self, exports: Sequence[PendingExport]) -> dict[str, ValidToken]:
        """Wait for every token's current routing; refuse the exports that it no longer allows."""
        token_secrets = sorted({export.token_secret for export in exports})
        answers, backoff = await self._tokens.check_all(token_secrets), Backoff()
        while any(isinstance(getattr(a, "__cause__", None), TRANSIENT) for a in answers):
            self.progress.failed(CHECK_LATER, META)
            await backoff.wait()
            answers = await self._tokens.check_all(token_secrets)
        if backoff.failures:
            self.progress.recovered(META)
        tokens: dict[str, ValidToken] = {}
        for token_secret, answer in zip(token_secrets, answers, strict=True):
            if isinstance(answer, ValidToken):
                tokens[token_secret] = answer
            elif isinstance(answer, Refused):
                _refuse([e for e in exports if e.token_secret == token_secret], answer.refusal)
            else:
                raise answer
        for export in exports:
            token = tokens.get(export.token_secret)
            if token and not token.dataset_ids[export.signal]:
                export.resolve(not_routed(export.signal))
        return tokens

    async def _registered(
        self, token_secrets: set[str], exports: Sequence[PendingExport]
    ) -> StreamWriter | None:
        """Register all tokens on one stream; None if a token was refused or the stream changed."""
        token_ids = {export.token_secret: export.token_id for export in exports}
        stream = self._stream
        registered = stream.registered_token_ids if stream else set()
        missing = [secret for secret in token_secrets if token_ids[secret] not in registered]
        if not missing:
            return stream
        answers = await asyncio.gather(*map(self._register, missing))
        for token_secret, refused in zip(missing, answers, strict=True):
            if refused:
                _refuse([e for e in exports if e.token_secret == token_secret], refused.refusal)
        return None

    async def _register(self, token_secret: str) -> Refused | None:
        try:
            registration = await self._ingestion.register(token_secret)
        except TokenUnknown:
            return UNKNOWN
        except MetaError as error:
            log.warning("registration_failed", reason=error.reason, error=error.message)
            self.progress.failed(error.message, "registration")
            return unavailable("stream cannot be registered now")
        self.progress.recovered("registration")
        async with self._opening:
            stream = self._stream
            if stream is None or stream.stream_id != registration.stream_id:
                try:
                    stream = await self._open(registration)
                except StreamEnded:
                    # The tail held a stop message: the next registration opens another stream.
                    return None
                self._stream = stream
        stream.registered_token_ids.add(registration.token_id)
        return None

    async def _open(self, registration: RegisterForStreamResponse) -> StreamWriter:
        """Open a stream: read its latest digests, commit babies that were put but not committed."""
        stream_id, next_offset = registration.stream_id, registration.next_offset
        config = registration.config
        at = self._settings.object_store or location(config.cloud_object_prefix.bucket)
        babies = StreamBabies(open_store(at), self._threads, stream_id, self.progress)
        tail = StreamTail(stream_id, self._ingestion, babies, self._digests)
        read_bytes_max = self._settings.dedupe_read_bytes_max
        await read_recent_digests(tail, next_offset, read_bytes_max, time.time_ns())
        adopted_to = await tail.adopt_all(next_offset)
        self._buffer.flush_timeout_secs = config.flush_timeout_ms / 1000
        self._buffer.batch_size_bytes_max = config.max_segment_size_bytes
        log.info("stream_opened", stream_id=stream_id, offset=next_offset, adopted_to=adopted_to)
        return StreamWriter(tail, adopted_to)


def _refuse_deleted(export: PendingExport, stamped: _StampedBaby, written: Written) -> bool:
    """Refuse an export whose dataset took no records of the baby; whether it was refused."""
    dataset_id = stamped.tokens[export.token_secret].dataset_ids[export.signal]
    if dataset_id not in written.deleted_dataset_ids:
        return False
    text = f"dataset {dataset_id} was deleted, or the token no longer routes to it"
    export.resolve(Refusal(Code.PERMISSION_DENIED, text))
    return True


def _refuse(exports: Sequence[PendingExport], refusal: Refusal) -> None:
    for export in exports:
        export.resolve(refusal)


def baby_of(
    exports: Sequence[PendingExport], tokens: Mapping[str, ValidToken], received_at: int
) -> Baby:
    """Build a data baby; `tokens` has the present routing of each token, by token_secret."""
    groups: dict[tuple[str, Signal], list[PendingExport]] = {}
    for export in exports:
        groups.setdefault((export.token_secret, export.signal), []).append(export)
    parts = (_part(tokens[secret], signal, each) for (secret, signal), each in groups.items())
    return Baby(
        parts=tuple(parts),
        kind=BabyKind.DATA,
        flush_id=urandom(FLUSH_ID_BYTES),
        received_at=received_at,
    )


def _part(token: ValidToken, signal: Signal, exports: Sequence[PendingExport]) -> TokenPart:
    bounds = [export.facts.time_bounds(export.received_at) for export in exports]
    return TokenPart(
        token_id=token.token_id,
        signal=signal,
        slices=tuple(export.payload for export in exports),
        dataset_id=token.dataset_ids[signal],
        num_records=sum(export.facts.num_records for export in exports),
        start_time=min(start for start, _ in bounds),
        end_time=max(end for _, end in bounds),
        exports=tuple(Export(export.digest, export.received_at) for export in exports),
    )
