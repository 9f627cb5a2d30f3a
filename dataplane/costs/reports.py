"""Reports of what a process spent, once a minute.

    settled sums --take--> a report with a number --ReportCosts--> meta adds it once
                                 ^____________ not answered: the same again

A report that has a number is never changed, so that a repetition adds nothing twice; what is spent
meanwhile goes into the next one.
"""

import time
from collections.abc import Callable
from uuid import uuid4

import structlog

from dataplane.costs.process import COSTS, METER, Meter
from meta.client import MetaClient
from meta.costs.accumulator import Accumulator, Work
from meta.errors import InvalidArgument, MetaError, RoleRefused
from meta.v1 import costs_pb2 as pb

log = structlog.get_logger()
EVERY_SECS = 60.0
# A process without work reports its idle time as rarely.
IDLE_EVERY_SECS = 600.0
ENTRIES_MAX = 1_000
# Meta knows a report for a week.
GIVEN_UP_SECS = 86_400.0
_DEADLINE_SECS = 10.0
# The work of a process of a kind.
WORKS = {
    "collector": Work.INGEST,
    "nursery": Work.NURSERY,
    "merge_worker": Work.MERGE,
    "gateway": Work.QUERY,
    "janitor": Work.UPKEEP,
}


class CostReports:
    """Reports one kind of work of this process; for one thread."""

    def __init__(
        self,
        client: MetaClient,
        work: Work,
        costs: Accumulator = COSTS,
        meter: Meter = METER,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._work = work
        self._costs = costs
        self._meter = meter
        self._monotonic = monotonic
        self._request = pb.ReportCostsRequest(reporter_id=uuid4().bytes)
        # True while the report has a number and no answer.
        self._is_waiting = False
        self._made_at = self._settled_at = self._reported_at = monotonic()
        # Of refusals that are in the log.
        self._reasons = set[str]()
        meter.settle(work)

    def report_if_due(self) -> None:
        """Report what was spent in the last minute, and what could not be reported before."""
        # Its caller comes every 30 seconds, a little early at times.
        if self._monotonic() - self._settled_at >= EVERY_SECS - 1.0:
            self.report()

    def report(self, deadline_secs: float = _DEADLINE_SECS, *, is_last: bool = False) -> None:
        """Report all that was spent until now. While meta does not answer it is kept."""
        self._settled_at = self._monotonic()
        self._meter.settle(self._work)
        is_idle = not (self._is_waiting or self._costs.has_datasets(self._work))
        if is_idle and not is_last and self._monotonic() - self._reported_at < IDLE_EVERY_SECS:
            return
        while self._is_waiting or self._next():
            if not self._send(deadline_secs):
                return
        self._reported_at = self._monotonic()

    def _next(self) -> bool:
        """Give the next sums a number; false if there are none."""
        entries = self._costs.take(self._work, ENTRIES_MAX)
        if not entries:
            return False
        self._request = pb.ReportCostsRequest(
            reporter_id=self._request.reporter_id, number=self._request.number + 1, entries=entries
        )
        self._is_waiting, self._made_at = True, self._monotonic()
        return True

    def _send(self, deadline_secs: float) -> bool:
        """Send the report; false if it is to be sent again."""
        try:
            self._client.operations.ReportCosts(self._request, timeout=deadline_secs)
        except MetaError as error:
            if error.reason not in self._reasons:
                log.warning("costs_not_reported", reason=error.reason, error=str(error))
            self._reasons.add(error.reason)
            is_refused = isinstance(error, InvalidArgument | RoleRefused)
            is_old = self._monotonic() - self._made_at > GIVEN_UP_SECS
            self._is_waiting = not (is_refused or is_old)
            return False
        except ValueError as error:
            # A client that is closed takes no calls.
            log.debug("costs_not_reported", error=str(error))
            return False
        self._is_waiting = False
        return True
