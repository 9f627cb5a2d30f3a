"""Limits of ingest tokens and of tenants: exports at a time, rate and memory."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from collector.config import Settings
from collector.fair_queue import FairQueue, Sender
from collector.otlp.attribute_bounds import AttributeBounds
from collector.refusal import over_limit
from meta.v1.operations_pb2 import IngestLimits

# A token without exports for this long is forgotten.
TOKEN_IDLE_SECS = 600.0
# Exports of a token that have to arrive in full before the size of the next one is estimated.
SAMPLES_MIN = 16
READ_BYTES_MIN = 256 * 1024
# How much of the largest recent size is left after each smaller export.
_DECAY = 0.98
# A sender that misspells a member does so in every export.
WARNING_PAUSE_SECS = 60.0


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Limits of one token, or of all tokens of a tenant; `bytes_per_sec` 0 = unlimited."""

    bytes_per_sec: int
    exports_in_flight: int
    memory_bytes: int

    def overridden(self, limits: IngestLimits) -> "TokenLimits":
        """Return these limits with those that a dataset sets in their place."""
        if not (limits.bytes_per_sec or limits.exports_in_flight or limits.memory_bytes):
            return self
        return TokenLimits(
            limits.bytes_per_sec or self.bytes_per_sec,
            limits.exports_in_flight or self.exports_in_flight,
            limits.memory_bytes or self.memory_bytes,
        )


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """Limits of one collector; those of a token hold unless its dataset sets others."""

    export_size_bytes_max: int
    export_records_max: int
    export_timeout_secs: float
    concurrent_exports_max: int
    token: TokenLimits
    attributes: AttributeBounds

    @classmethod
    def of(cls, settings: Settings) -> "IntakeLimits":
        """Return the limits that an operator has set."""
        return cls(
            settings.export_size_bytes_max,
            settings.export_records_max,
            settings.export_timeout_secs,
            settings.concurrent_exports_max,
            TokenLimits(
                bytes_per_sec=settings.token_bytes_per_sec_max,
                exports_in_flight=settings.token_concurrent_exports_max,
                memory_bytes=settings.token_buffer_size_bytes_max,
            ),
            AttributeBounds(
                attributes_max=settings.attributes_max,
                name_bytes_max=settings.attribute_name_bytes_max,
                value_bytes_max=settings.attribute_value_bytes_max,
            ),
        )


@dataclass(slots=True, eq=False)
class TokenActivity:
    """Exports in flight of one token or tenant, its rate, and the size of its next export."""

    in_flight: int = 0
    used_at: float = 0.0
    _balance_bytes: float = 0.0
    _balance_at: float | None = None
    _largest_bytes: float = 0.0
    _num_samples: int = 0
    _warned_at: float = float("-inf")

    def is_warning_due(self, now: float) -> bool:
        """Return whether the last warning is a minute ago, and count this one as the last."""
        is_due = now >= self._warned_at + WARNING_PAUSE_SECS
        self._warned_at = now if is_due else self._warned_at
        return is_due

    def require(self, limits: TokenLimits, now: float, holder: str = "ingest token") -> None:
        """Raise Refused, with a time to retry, if the token or tenant is over a limit."""
        if self.in_flight >= limits.exports_in_flight:
            raise over_limit("exports_in_flight", f"{holder} has too many exports in flight")
        if limits.bytes_per_sec:
            self._refill(limits.bytes_per_sec, now)
            if self._balance_bytes <= 0:
                wait_secs = max(1.0, -self._balance_bytes / limits.bytes_per_sec)
                text = f"{holder} sends more than {limits.bytes_per_sec} bytes a second"
                raise over_limit("bytes_per_sec", text, wait_secs)

    def count(self, size_bytes: int, limits: TokenLimits, now: float) -> None:
        """Count an export that has arrived, in decompressed bytes."""
        if limits.bytes_per_sec:
            self._refill(limits.bytes_per_sec, now)
            self._balance_bytes -= size_bytes
        self._num_samples += 1
        self._largest_bytes = max(size_bytes, self._largest_bytes * _DECAY)

    def distrust(self) -> None:
        """Expect exports of any size: one was slow to arrive, or larger than expected."""
        self._num_samples = 0

    def expected_bytes(self, size_bytes_max: int) -> int:
        """Bytes to reserve for an export whose size its protocol does not announce."""
        if self._num_samples < SAMPLES_MIN:
            return size_bytes_max
        return min(size_bytes_max, max(READ_BYTES_MIN, int(2 * self._largest_bytes)))

    def _refill(self, bytes_per_sec: int, now: float) -> None:
        """Add the rate's share since the last call; a second's worth can be saved up."""
        elapsed_secs = 1.0 if self._balance_at is None else now - self._balance_at
        self._balance_at = now
        self._balance_bytes = min(bytes_per_sec, self._balance_bytes + elapsed_secs * bytes_per_sec)


@dataclass(frozen=True, slots=True)
class TenantActivity:
    """Limits of all tokens of a tenant together, and what they do."""

    id: str
    limits: TokenLimits
    activity: TokenActivity


@dataclass(slots=True)
class Activities:
    """Activity by the id of a token or tenant, and turns if several want the event loop."""

    clock: Callable[[], float] = time.monotonic
    num_in_flight: int = 0
    _tokens: OrderedDict[str, TokenActivity] = field(default_factory=OrderedDict)
    _num_active_tokens: int = 0
    _turns: FairQueue["asyncio.Future[None]"] = field(default_factory=FairQueue)

    def of(self, token_id: str) -> TokenActivity:
        """Return a token's activity; forgets tokens that are idle."""
        now = self.clock()
        activity = self._tokens.get(token_id)
        if activity is None:
            activity = self._tokens[token_id] = TokenActivity()
        activity.used_at = now
        self._tokens.move_to_end(token_id)
        oldest_id, oldest = next(iter(self._tokens.items()))
        if not oldest.in_flight and now - oldest.used_at > TOKEN_IDLE_SECS:
            del self._tokens[oldest_id]
        return activity

    def begin(self, activity: TokenActivity) -> None:
        """Count one more export in flight."""
        self.num_in_flight += 1
        self._num_active_tokens += activity.in_flight == 0
        activity.in_flight += 1

    def end(self, activity: TokenActivity) -> None:
        """Count one export in flight less."""
        self.num_in_flight -= 1
        activity.in_flight -= 1
        self._num_active_tokens -= activity.in_flight == 0

    async def turn(self, sender: Sender, size_bytes: int) -> None:
        """Wait for the sender's turn on the event loop; at once while it is the only one."""
        if self._num_active_tokens <= 1 and not self._turns:
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._turns:
            loop.call_soon(self._next_turn)
        self._turns.push(sender, turn, size_bytes)
        await turn

    def _next_turn(self) -> None:
        turn = self._turns.pop()
        if not turn.done():
            turn.set_result(None)
        if self._turns:
            asyncio.get_running_loop().call_soon(self._next_turn)
