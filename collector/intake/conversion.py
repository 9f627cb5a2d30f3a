"""Pool of conversion processes: JSON to protobuf, the valid part of damaged exports, validation.

Tokens and tenants take turns. A process is started when it is first needed and again after it
ended; one that takes too long for an export is killed.
"""

import asyncio
from dataclasses import dataclass, field
from typing import cast

import structlog

from collector.fair_queue import FairQueue, Sender
from collector.intake.conversion_worker import Conversion, Limit, Reply, Request, Result
from collector.otlp.export import TooManyRecords
from collector.otlp.partial_success import PartialSuccess
from collector.records.json_records import RecordOptions
from collector.refusal import Refusal, Refused, malformed, unavailable
from dataplane.costs.process import METER
from dataplane.processes.child_process import ChildProcess
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

log = structlog.get_logger()

CONVERSION_SECS_MAX = 30.0
_MODULE = "collector.intake.conversion_worker"


def _started() -> ChildProcess:
    """Start a process, whose CPU time is the collector's."""
    worker = ChildProcess(_MODULE)
    METER.include(worker.pid)
    return worker


@dataclass(slots=True)
class ConversionPool:
    """Up to `processes_max` processes; used on one event loop only."""

    processes_max: int
    _idle: list[ChildProcess] = field(default_factory=list)
    _num_busy: int = 0
    _waiting: FairQueue["asyncio.Future[None]"] = field(default_factory=FairQueue)

    async def convert(
        self,
        conversion: Conversion,
        sender: Sender,
        signal: Signal,
        body: bytes,
        limit: Limit,
    ) -> PartialSuccess:
        """Convert one export when it is the sender's turn; raises Refused."""
        converted = await self._result(sender, (conversion, signal, body, limit))
        assert isinstance(converted, PartialSuccess)
        return converted

    async def read_facts(
        self, sender: Sender, signal: Signal, payload: bytes, records_max: int
    ) -> PayloadFacts:
        """Do as `collector.otlp.export.read_facts` when it is the sender's turn."""
        facts = await self._result(sender, ("facts", signal, payload, records_max))
        assert isinstance(facts, PayloadFacts)
        return facts

    async def _result(self, sender: Sender, request: Request) -> Result:
        _, _, body, limit = request
        await self._turn(sender, len(body))
        worker: ChildProcess | None = None
        try:
            worker = self._idle.pop() if self._idle else _started()
            async with asyncio.timeout(CONVERSION_SECS_MAX):
                reply = cast("Reply", await worker.call(request))
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
            worker = None
        finally:
            if worker is not None:
                # Killed at once, and waited for in a thread.
                worker.kill()
                asyncio.get_running_loop().run_in_executor(None, worker.end)
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
        idle, self._idle = self._idle, []
        await asyncio.gather(*(asyncio.to_thread(worker.end) for worker in idle))

    async def _turn(self, sender: Sender, size_bytes: int) -> None:
        if self._num_busy < self.processes_max:
            self._num_busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.push(sender, turn, size_bytes)
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
