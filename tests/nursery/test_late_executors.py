"""Executors that change after the survey at the start: each task looks for itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from merge_worker.job import TaskMerger
from merge_worker.tasks import ClaimedTask
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.planning.tasks import Task
from segments.location import StoreLocation, Stores
from segments.parquet.spec import SegmentSpec
from segments.spark.jobs import SparkJobs
from segments.spark.session import SparkUnusable, open_session
from segments.spark.settings import SparkSettings
from tests.support.cluster.versions import pretend_python, pretend_release
from tests.support.spark import stop_shared_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
BUDGET = Budget(1 << 26, 1 << 28)
NOTHING = Task((), (), ())
NOWHERE = StoreLocation.from_url("file:///nowhere")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder that executors look for packages in first."""
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def fickle(packages: Path) -> Iterator[SparkJobs]:
    """Start a session whose every task has its own Python, as a new executor has."""
    conf = (
        ("spark.executorEnv.PYTHONPATH", str(packages)),
        ("spark.python.use.daemon", "false"),
        ("spark.python.worker.reuse", "false"),
    )
    settings = SparkSettings("tests of late executors", "local-cluster[1,1,1024]", conf=conf)
    stop_shared_session()
    session = open_session(settings)
    yield SparkJobs(session, settings)
    session.stop()


def test_a_batch_on_an_executor_of_another_release_is_refused_before_anything_is_read(
    fickle: SparkJobs, packages: Path
) -> None:
    assert list(job.run(fickle, BUDGET, [NOTHING], Stores(NOWHERE)))

    with (
        pretend_release(packages),
        pytest.raises(SparkUnusable, match=r"^the executor on \S+ has segplane 9\.9 \(here"),
    ):
        list(job.run(fickle, BUDGET, [NOTHING], Stores(NOWHERE)))

    fickle.check()


def test_a_merge_on_an_executor_of_another_release_is_not_a_failure_of_its_task(
    fickle: SparkJobs, packages: Path, tmp_path: Path
) -> None:
    task = ClaimedTask(
        "t", 1, "d", (), SegmentSpec(), Stores(NOWHERE), "p/", "test", tmp_path, 2**20
    )

    with pretend_release(packages), pytest.raises(SparkUnusable, match=r"has segplane 9\.9"):
        TaskMerger(fickle).run(task)


def test_an_executor_of_another_python_is_refused_in_one_line(
    fickle: SparkJobs, packages: Path
) -> None:
    with pretend_python(packages), pytest.raises(SparkUnusable) as refused:
        list(job.run(fickle, BUDGET, [NOTHING], Stores(NOWHERE)))

    assert str(refused.value).startswith("an executor has python 3.8 (here 3.")
    assert "\n" not in str(refused.value)
