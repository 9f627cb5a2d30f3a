"""A meta for the nursery, a collector, and a real Spark session for its job."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dataplane.processes.task_processes import TaskProcesses
from dataplane.task_runner import TaskRunner
from meta import config
from meta.client import MetaClient
from meta.process.environment import Environment
from segments.spark.jobs import SparkJobs
from tests.support.nursery.drivers import CollectorDriver, dataset
from tests.support.spark import SETTINGS, shared_session


@pytest.fixture
def meta_settings(database_url: str, tmp_path: Path) -> config.Settings:
    """Merged babies may go at once."""
    (tmp_path / "objects").mkdir()
    return config.load(
        Environment(
            "META_",
            {
                "META_BIND": "127.0.0.1:0",
                "META_DATABASE_URL": database_url,
                "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
                "META_UNSAFE_SHORT_GRACE": "true",
                "META_TOMBSTONE_GRACE_SECS": "0",
                "META_THREADS": "8",
            },
        )
    )


@pytest.fixture
def collector(meta_client: MetaClient) -> CollectorDriver:
    """Give a collector with a stream, and a dataset for its records."""
    return CollectorDriver(meta_client, dataset(meta_client))


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Give a session to a module's tests."""
    return shared_session()


@pytest.fixture(scope="module")
def spark_jobs(spark: SparkSession) -> SparkJobs:
    """Give jobs on the session."""
    return SparkJobs(spark, SETTINGS)


@pytest.fixture(scope="module", params=["processes", "Spark"])
def runner(request: pytest.FixtureRequest) -> Iterator[TaskRunner]:
    """Give each way to run a nursery's tasks in turn."""
    if request.param == "Spark":
        yield request.getfixturevalue("spark_jobs")
        return
    processes = TaskProcesses(2)
    yield processes
    processes.close()
