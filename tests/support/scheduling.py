"""The order in which the workers of pytest-xdist take tests."""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]
SPARK = "spark"
# Its tests read the same parsed modules.
STYLE = "tests/style/"
# A file with one of these starts something for all of its tests.
SHARED = ('scope="module"', "pytest.mark.one_meta")
# As in xdist: with more tests, a worker gets no other group yet.
PENDING_MIN = 2


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Runs the files with Spark on one worker, and spreads the other tests one by one.

    A file whose tests share what a fixture starts stays together as well: each worker would start
    its own.

    JVMs side by side would starve each other. As the largest group the files with Spark are begun
    first. The group marks of xdist 3.8 have no effect in pytest 9.2, which has no `_nodeid`.

    A worker begins a test when it knows the next one, so it always has several groups.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if _contains(path, "pytest.mark.spark"):
            return SPARK
        if path.startswith(STYLE):
            return STYLE
        shares = any(_contains(path, text) for text in SHARED)
        return path if shares else nodeid

    def remove_node(self, node: Any) -> str | None:
        """Give what a worker has not begun to the others; returns the test it crashed in, if any.

        That test is not run again.
        """
        work: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        pending = ((tests, test) for tests in work.values() for test in tests if not tests[test])
        crashed = next(pending, None)
        if crashed is None:
            return None
        crashed[0][crashed[1]] = True
        self.workqueue.update({s: tests for s, tests in work.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed[1]

    def _assign_work_unit(self, node: Any) -> None:
        """Send a group to a worker, which may have crashed without xdist knowing it yet.

        The group counts as the worker's all the same: the event of the crash is in xdist's queue or
        comes, and with it `remove_node` gives the group to the others.
        """
        with suppress(OSError):
            super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if node not in self.registered_collections:
            return
        while (
            self.workqueue
            and not node.shutting_down
            and self._pending_of(self.assigned_work[node]) <= PENDING_MIN
        ):
            self._assign_work_unit(node)
        if not self.workqueue:
            super()._reschedule(node)


@cache
def _contains(path: str, text: str) -> bool:
    return text in (ROOT / path).read_text()
