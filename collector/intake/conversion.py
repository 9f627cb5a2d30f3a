"""Pool of conversion processes: JSON to protobuf, the valid part of damaged exports, validation.

Tokens take turns. A process is started when it is first needed and again after it ended; one that
takes too long for an export is killed.
"""

import asyncio
import pickle
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import structlog

from collector.fair_queue import FairQueue
from collector.intake.conversion_worker import LENGTH, Conversion, Limit, Reply, Request, Result
from collector.otlp.export import TooManyRecords
from collector.otlp.partial_success import PartialSuccess
from collector.records.json_records import RecordOptions
from collector.refusal import Refusal, Refused, malformed, unavailable
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

log = structlog.get_logger()

CONVERSION_SECS_MAX = 30.0


@dataclass(slots=True)
class ConversionPool:
    """Up to `processes_max` processes; used on one event loop only."""

    processes_max: int
    _idle: "list[_Worker]" = field(default_factory=list)
    _num_busy: int = 0
    _waiting: FairQueue["asyncio.Future[None]"] = field(default_factory=FairQueue)

    async def convert(
        self, conversion: Conversion, token_id: str, signal: Signal, body: bytes, limit: Limit
    ) -> PartialSuccess:
        """Convert one export when it is the token's turn; raises Refused."""
        converted = await self._result(token_id, (conversion, signal, body, limit))
        assert isinstance(converted, PartialSuccess)
        return converted

    async def read_facts(
        self, token_id: str, signal: Signal, payload: bytes, records_max: int
    ) -> PayloadFacts:
        """Do as `collector.otlp.export.read_facts` when it is the token's turn."""
        facts = await self._result(token_id, ("facts", signal, payload, records_max))
        assert isinstance(facts, PayloadFacts)
        return facts

    async def _result(self, token_id: str, request: Request) -> Result:
        _, _, body, limit = request
        await self._turn(token_id, len(body))
        worker = self._idle.pop() if self._idle else _Worker()
        try:
            async with asyncio.timeout(CONVERSION_SECS_MAX):
                reply = await worker.call(request)
        except TimeoutError:
            raise malformed(
                f"export takes more than {CONVERSION_SECS_MAX:.0f} s to convert; "
                "send smaller batches"
            ) from None
        except (EOFError, OSError) as error:
            log.warning("conversion_process_ended", error=repr(error))
            raise unavailable("export could not be converted now") from None
        else:
            self._idle.append(worker)
        finally:
            worker.kill_unless(self._idle)
            self._end_turn()
        if isinstance(reply, Refusal):
            raise Refused(reply)
        if isinstance(reply, int):
            records_max = limit.records_max if isinstance(limit, RecordOptions) else limit
            assert isinstance(records_max, int), "a window counts no records"
            raise TooManyRecords(records_max, reply)
        return reply

    async def close(self) -> None:
        """End the idle processes."""
        for worker in self._idle:
            worker.kill_unless(())
        await asyncio.gather(*(worker.wait() for worker in self._idle))
        self._idle.clear()

    async def _turn(self, token_id: str, size_bytes: int) -> None:
        if self._num_busy < self.processes_max:
            self._num_busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.push(token_id, turn, size_bytes)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end_turn()
            raise

    def _end_turn(self) -> None:
        """Hand the turn to the next that still waits."""
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(None)
                return
        self._num_busy -= 1


@dataclass(slots=True, eq=False)
class _Worker:
    _process: asyncio.subprocess.Process | None = None

    async def call(self, request: Request) -> Reply:
        """Send a request and wait for its reply; raises EOFError, OSError if the process ends."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "collector.intake.conversion_worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # Ctrl-C in a terminal is for the collector, which ends with its exports answered.
                start_new_session=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        body = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        process.stdin.write(LENGTH.pack(len(body)))
        process.stdin.write(body)
        await process.stdin.drain()
        header = await process.stdout.readexactly(LENGTH.size)
        body = await process.stdout.readexactly(LENGTH.unpack(header)[0])
        reply: Reply = pickle.loads(body)  # noqa: S301 - written by our own process
        return reply

    def kill_unless(self, kept: "Iterable[_Worker]") -> None:
        """Kill the process, unless it is among those kept."""
        if self not in kept and self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def wait(self) -> None:
        """Wait until the process has ended."""
        if self._process is not None:
            await self._process.wait()
