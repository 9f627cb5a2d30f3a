"""Duration of every call by method and status code."""

import time

from meta import metrics


class CallDurations:
    """Observes the calls of one method; `began` is what `start` returned for the call."""

    def __init__(self, rpc: str) -> None:
        self._rpc = rpc
        self._succeeded = metrics.RPC_SECONDS.labels(rpc, "OK")

    def start(self) -> float:
        """The time at which a call begins."""
        return time.perf_counter()

    def succeeded(self, began: float) -> None:
        """Observe a call that was answered."""
        self._succeeded.observe(time.perf_counter() - began)

    def refused(self, began: float, code: str) -> None:
        """Observe a call that was refused with a status code."""
        metrics.RPC_SECONDS.labels(self._rpc, code).observe(time.perf_counter() - began)
