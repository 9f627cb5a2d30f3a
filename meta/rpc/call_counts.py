"""Counts of meta's calls, under gRPC's names and under the old one from the same observation."""

from meta.call_metrics import OTHER_METHOD, Exemplar, MethodCalls
from meta.metrics import RPC_SECONDS
from meta.process.call_places import Context, code_of

# One name for all, since names of methods are labels of metrics.
UNKNOWN_METHOD = "/unknown/Unknown"


class RpcCalls(MethodCalls):
    """Counts the calls of one method of meta."""

    def __init__(self, method: str) -> None:
        super().__init__(OTHER_METHOD if method == UNKNOWN_METHOD else method)
        self.rpc = method.rpartition("/")[2]
        self._succeeded = RPC_SECONDS.labels(self.rpc, "OK")

    def succeed(self, began: float, exemplar: Exemplar | None) -> None:
        """Count a call that is answered."""
        self._succeeded.observe(self.end(began, "OK", exemplar))

    def refuse(self, began: float, code: str) -> None:
        """Count a call that is refused."""
        RPC_SECONDS.labels(self.rpc, code).observe(self.end(began, code))

    def abort(self, began: float, context: Context) -> None:
        """Count a call that its handler has aborted by itself."""
        self.end(began, code_of(context))
