"""A launcher of queries that the gateways of many tests share, because it takes 3 s to begin."""

from concurrent.futures import ThreadPoolExecutor

from segplane.gateway.queries.process import Launcher, ProcessPool, QueryProcess
from tests.support.waiting import DEADLINE_SECS


class SharedPool(ProcessPool):
    """A pool that outlives its gateways; `end` ends it."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        # The launcher dies with the thread that started it, so not with a gateway's.
        self._thread = ThreadPoolExecutor(1, "query-launcher")

    @property
    def launcher_pid(self) -> int:
        """The process that starts those of queries; there is one once a query has run."""
        assert self._launcher is not None
        return self._launcher.pid

    async def take(self) -> QueryProcess:
        if self._launcher is None or not self._launcher.is_alive():
            self._launcher = self._thread.submit(Launcher, 1).result(DEADLINE_SECS)
        return await super().take()

    def close(self) -> None:
        """Do nothing: other gateways use it."""

    def end(self) -> None:
        """End the launcher, and with it the processes of queries."""
        super().close()
        self._thread.shutdown()
