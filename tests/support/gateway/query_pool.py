"""A pool of processes that the gateways of many tests share: its launcher takes 3 s to begin."""

from segplane.gateway.queries.processes.child import WAITING_NAME
from segplane.gateway.queries.processes.pool import ProcessPool
from tests.support.process_tree import children_of, name_of

WAITING = 2


class SharedPool(ProcessPool):
    """A pool that outlives its gateways; `end` ends it."""

    def __init__(self) -> None:
        super().__init__(threads=1, waiting_max=WAITING)

    def rests(self) -> bool:
        """True if a launcher has no other processes than those that wait, all of them prepared."""
        pids = self.waiting_pids
        return (
            self.launcher_pid is not None
            and len(pids) == WAITING
            and set(children_of(self.launcher_pid)) == set(pids)
            and all(name_of(pid) == WAITING_NAME for pid in pids)
        )

    def close(self) -> None:
        """Do nothing: other gateways use it."""

    def end(self) -> None:
        """End the launcher, and with it the processes of queries."""
        super().close()
