"""Limits of ingest tokens: exports at a time, rate, and monthly quotas of datasets.

Quotas are checked against usage counts that meta gave a few seconds ago. One call covers every
dataset in use and is repeated before its reply expires, so that a busy dataset never waits for it.
When the reply has expired and meta does not answer, exports are refused as UNAVAILABLE, which
exporters retry; once no meta is known to answer, the last reply counts for one buffer's content.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from collector.fair_queue import FairQueue
from collector.ingestion import Ingestion, IngestLimits, MonthlyUsage
from collector.refusal import Refusal, Refused, over_limit, unavailable
from meta.errors import Code, MetaError, QuotaExceeded
from meta.metrics import USAGE_AGE_SECONDS

log = structlog.get_logger()
# A token without exports for this long is forgotten.
TOKEN_IDLE_SECS = 600.0
# Exports of a token that have to arrive in full before the size of the next one is estimated.
SAMPLES_MIN = 16
READ_BYTES_MIN = 256 * 1024
# How much of the largest recent size is left after each smaller export.
_DECAY = 0.98
# An export is held for so long while merges are behind.
HELD_SECS = 5.0
# A dataset without exports for this long is no longer in the call.
IDLE_SECS = 60.0


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Limits of one token; `bytes_per_sec` 0 = unlimited."""

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


@dataclass(slots=True, eq=False)
class TokenActivity:
    """Exports in flight of one token, its rate, and the size that its next export may have."""

    in_flight: int = 0
    used_at: float = 0.0
    _balance_bytes: float = 0.0
    _balance_at: float | None = None
    _largest_bytes: float = 0.0
    _num_samples: int = 0

    def require(self, limits: TokenLimits, now: float) -> None:
        """Raise Refused, with a time to retry, if the token is over a limit."""
        if self.in_flight >= limits.exports_in_flight:
            raise over_limit("exports_in_flight", "ingest token has too many exports in flight")
        if limits.bytes_per_sec:
            self._refill(limits.bytes_per_sec, now)
            if self._balance_bytes <= 0:
                wait_secs = max(1.0, -self._balance_bytes / limits.bytes_per_sec)
                text = f"ingest token sends more than {limits.bytes_per_sec} bytes a second"
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


@dataclass(slots=True)
class Activities:
    """Activity by token id, and turns if several tokens want the event loop."""

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

    async def turn(self, token_id: str, size_bytes: int) -> None:
        """Wait for the token's turn on the event loop; at once while it is the only one."""
        if self._num_active_tokens <= 1 and not self._turns:
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._turns:
            loop.call_soon(self._next_turn)
        self._turns.push(token_id, turn, size_bytes)
        await turn

    def _next_turn(self) -> None:
        turn = self._turns.pop()
        if not turn.done():
            turn.set_result(None)
        if self._turns:
            asyncio.get_running_loop().call_soon(self._next_turn)


_UNKNOWN_USAGE = "usage of the dataset cannot be checked now"


@dataclass(slots=True, eq=False)
class Allowance:
    """Usage of one dataset as meta last reported it, and the records accepted here since.

    Only exports that came after the reply count as own: an older one may be in meta's count
    already, and counting it twice would refuse exports too early.
    """

    usage: MonthlyUsage
    asked_at: float
    own_records: int = 0
    held: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the dataset has reached its quota for this month."""
        limit = self.usage.limit
        return limit >= 0 and self.usage.records + self.own_records >= limit

    def hold(self) -> bool:
        """Count one export; true if it is one of those that wait until merges have caught up."""
        self.held += self.usage.held_share
        is_held = self.held >= 1.0
        self.held -= is_held
        return is_held


@dataclass(slots=True)
class Quotas:
    """Allowances by dataset; used on one event loop only."""

    ingestion: Ingestion
    trust_secs: float
    clock: Callable[[], float] = time.monotonic
    _allowances: dict[str, Allowance] = field(default_factory=dict)
    _used_at: dict[str, float] = field(default_factory=dict)
    _refresh_task: "asyncio.Task[None] | None" = None

    def last_known(self, dataset_id: str) -> IngestLimits | None:
        """Return a dataset's limits if it was within its quota when meta was last asked."""
        allowance = self._allowances.get(dataset_id)
        return None if allowance is None or allowance.is_spent else allowance.usage.ingest_limits

    def dataset_name(self, dataset_id: str) -> str:
        """Return the name that a dataset had when meta was last asked about it; "" = unknown."""
        allowance = self._allowances.get(dataset_id)
        return "" if allowance is None else allowance.usage.dataset_name

    async def check(self, dataset_id: str) -> IngestLimits:
        """Return a dataset's limits; raises Refused if it is over its quota, or that is unknown."""
        now = self._used_at[dataset_id] = self.clock()
        allowance = self._fresh(dataset_id)
        if allowance is None:
            allowance = await self._refreshed(dataset_id, now)
        elif now - allowance.asked_at > self.trust_secs / 3:
            self._refresh()
        USAGE_AGE_SECONDS.set(max(0.0, now - allowance.asked_at))
        if allowance.is_spent:
            raise Refused(_spent(allowance.usage))
        if allowance.hold():
            raise _behind(allowance.usage)
        return allowance.usage.ingest_limits

    def take(self, dataset_id: str, num_records: int) -> Allowance:
        """Count accepted records; raises Refused if the quota has been reached."""
        allowance = self._allowances.get(dataset_id)
        if allowance is None:
            # Forgotten while the export's conversion waited for its turn.
            raise unavailable(_UNKNOWN_USAGE)
        if allowance.is_spent:
            raise Refused(_spent(allowance.usage))
        allowance.own_records += num_records
        return allowance

    def _fresh(self, dataset_id: str) -> Allowance | None:
        allowance = self._allowances.get(dataset_id)
        if allowance is None or self.clock() - allowance.asked_at >= self.trust_secs:
            return None
        return allowance

    async def _refreshed(self, dataset_id: str, came_at: float) -> Allowance:
        """Wait for usage that is fresh, or was asked for after the export came at `came_at`.

        The latter counts however long the answer took: on a machine so busy that answers take
        longer than they are trusted, every export would be refused otherwise.
        """
        # Twice: the call under way may have started before this dataset was in use.
        for _ in range(2):
            await asyncio.shield(self._refresh())
            allowance = self._allowances.get(dataset_id)
            if allowance is not None and allowance.asked_at >= came_at:
                return allowance
            allowance = self._fresh(dataset_id)
            if allowance is not None:
                return allowance
        raise unavailable(_UNKNOWN_USAGE)

    def _refresh(self) -> "asyncio.Task[None]":
        if self._refresh_task is None:
            self._refresh_task = asyncio.create_task(self._read_usages())
            self._refresh_task.add_done_callback(self._forget_refresh)
        return self._refresh_task

    def _forget_refresh(self, task: "asyncio.Task[None]") -> None:
        self._refresh_task = None
        if not task.cancelled():
            # Retrieved here, since nothing awaits a refresh ahead of time.
            task.exception()

    async def _read_usages(self) -> None:
        # The reply's age counts from the call: others commit while it travels.
        asked_at = self.clock()
        for dataset_id, used_at in list(self._used_at.items()):
            if asked_at - used_at > IDLE_SECS:
                del self._used_at[dataset_id]
                self._allowances.pop(dataset_id, None)
        try:
            usages = await self.ingestion.usages(list(self._used_at))
        except MetaError as error:
            log.warning("usage_check_failed", reason=error.reason, error=error.message)
            raise unavailable(_UNKNOWN_USAGE) from error
        for usage in usages:
            before = self._allowances.get(usage.dataset_id)
            held = before.held if before is not None else 0.0
            self._allowances[usage.dataset_id] = Allowance(usage, asked_at, held=held)


def _behind(usage: MonthlyUsage) -> Refused:
    text = f"{usage.merge_debt} segments of dataset {usage.name} wait for a merge; retry later"
    return over_limit("merge_debt", text, HELD_SECS)


def _spent(usage: MonthlyUsage) -> Refusal:
    text = (
        f"dataset {usage.name} has accepted its {usage.limit} records of {usage.month} (UTC),"
        " duplicates counted"
    )
    # No delay is given, so that exporters drop it by OTLP's rules: the month may be long.
    return Refusal(Code.RESOURCE_EXHAUSTED, text, reason=QuotaExceeded.reason)
