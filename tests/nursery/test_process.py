"""`python -m nursery` as a process: what it says, how it ends."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.spark
Start = Callable[[dict[str, str]], WorkerProcess]
META_IS_AWAY = {
    "NURSERY_META_ADDRESS": "127.0.0.1:9",
    "NURSERY_SPARK_MASTER": "processes[1]",
    "NURSERY_INTERVAL_SECS": "0.1",
}
ON_SPARK = {**META_IS_AWAY, "NURSERY_SPARK_MASTER": "local[1]"}
# Tasks run in their own JVM, as on a cluster.
ON_EXECUTORS = {
    **META_IS_AWAY,
    "NURSERY_SPARK_MASTER": "local-cluster[1,1,1024]",
    # The JVMs end before the optimizing compiler pays.
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture
def start() -> Iterator[Start]:
    running: list[WorkerProcess] = []

    def begin(environment: dict[str, str]) -> WorkerProcess:
        running.append(WorkerProcess("nursery", environment))
        return running[-1]

    yield begin
    for process in running:
        process.close()


@pytest.mark.long
def test_without_java_it_waits_for_a_meta_that_is_away_and_ends_cleanly(start: Start) -> None:
    process = start({**META_IS_AWAY, "JAVA_HOME": "/nonexistent"})
    process.wait_for("nursery_started")
    process.wait_for("cycle_failed")

    assert process.terminate() == 0
    process.wait_for("nursery_stopped")


@pytest.mark.long
def test_a_jvm_that_is_killed_while_it_starts_asks_for_another_start(start: Start) -> None:
    process = start(ON_SPARK)

    process.kill_starting_jvm()

    assert process.exit_code() == 1
    process.wait_for("SIGKILL ended the Spark JVM while it started")


def dying_python(folder: Path, deaths: int) -> dict[str, str]:
    """Give Spark an interpreter that is killed so many times before it runs."""
    script = folder / "python"
    script.write_text(
        "#!/bin/sh\n"
        f"for death in $(seq {deaths}); do\n"
        f'  mkdir "{folder}/$death" 2>/dev/null && kill -9 $$\n'
        "done\n"
        f'exec "{sys.executable}" "$@"\n'
    )
    script.chmod(0o755)
    return {"NURSERY_SPARK_CONF": f"spark.pyspark.python={script}"}


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(ON_SPARK, id="local"),
        pytest.param(ON_EXECUTORS, id="executors", marks=pytest.mark.slow),
    ],
)
def test_it_starts_a_killed_python_again_and_ends_with_an_error_when_its_jvm_dies(
    environment: dict[str, str], start: Start, tmp_path: Path
) -> None:
    process = start({**environment, **dying_python(tmp_path, 1)})
    process.wait_for("nursery_started")
    assert (tmp_path / "1").exists(), "a Python was killed in the first job"

    process.kill_children()

    assert process.exit_code() == 1
    process.wait_for("runner_died")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["nursery", "merge_worker"])
def test_first_jobs_that_keep_failing_are_not_a_wrong_setting(
    module: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    environment = {**ON_SPARK, **dying_python(tmp_path, 100)}
    if module == "merge_worker":
        server = request.getfixturevalue("meta_server")
        environment = {
            "MERGE_WORKER_META_ADDRESS": server.address,
            "MERGE_WORKER_SPARK_MASTER": ON_SPARK["NURSERY_SPARK_MASTER"],
            "MERGE_WORKER_SPARK_CONF": environment["NURSERY_SPARK_CONF"],
        }
    process = WorkerProcess(module, environment)
    try:
        assert process.exit_code() == 1
        assert process.has_logged("failed 3 times")
    finally:
        process.close()


def test_a_jvm_that_refuses_its_options_ends_the_start_in_one_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env={
            **os.environ,
            **ON_SPARK,
            "NURSERY_SPARK_CONF": "spark.driver.extraJavaOptions=-agentlib:nosuch",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("error: Spark at local[1] did not start: ")


def test_a_malformed_setting_is_named_in_one_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env={**os.environ, "NURSERY_INTERVAL_SECS": "often"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr == "error: NURSERY_INTERVAL_SECS is 'often', not a number of seconds\n"
