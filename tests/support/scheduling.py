"""The order in which the workers of pytest-xdist take tests."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]
SPARK = "spark"


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Runs the files with Spark on one worker, and spreads the other tests one by one.

    JVMs side by side would starve each other. As the largest group the files with Spark are begun
    first. The group marks of xdist 3.8 have no effect in pytest 9.2, which has no `_nodeid`.
    """

    def _split_scope(self, nodeid: str) -> str:
        return SPARK if _has_spark(nodeid.partition("::")[0]) else nodeid


@cache
def _has_spark(path: str) -> bool:
    return "pytest.mark.spark" in (ROOT / path).read_text()
