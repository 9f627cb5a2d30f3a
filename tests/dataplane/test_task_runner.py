"""The runner that a master names."""

import subprocess
import sys

import pytest
from structlog.testing import capture_logs

from dataplane.task_runner import RUNNER_STARTED, open_runner, usable_cores
from segments.errors import RunnerUnusable
from segments.spark.settings import SparkSettings


@pytest.mark.parametrize(
    ("master", "tasks_max"),
    [("processes[3]", 3), ("processes[*]", usable_cores()), ("processes", usable_cores())],
)
def test_a_master_without_spark_names_the_tasks_that_run_at_once(
    master: str, tasks_max: int
) -> None:
    assert open_runner(SparkSettings("test", master)).tasks_max == tasks_max


@pytest.mark.parametrize("master", ["processes[]", "processes[0]", "processes[two]", "local[2"])
def test_a_malformed_master_is_refused_in_one_line(master: str) -> None:
    with pytest.raises(RunnerUnusable, match="is not a master: use"):
        open_runner(SparkSettings("test", master))


def test_spark_properties_of_a_master_without_spark_are_reported_as_ignored() -> None:
    properties = (("spark.executor.memory", "2g"), ("spark.ui.enabled", "true"))
    with capture_logs() as logged:
        open_runner(SparkSettings("test", "processes[2]", conf=properties))
        open_runner(SparkSettings("test", "processes[2]"))

    (warning,) = (entry for entry in logged if entry["event"] != RUNNER_STARTED)
    assert [entry["master"] for entry in logged if entry["event"] == RUNNER_STARTED] == [
        "processes[2]",
        "processes[2]",
    ]
    assert (warning["event"], warning["log_level"]) == ("spark_conf_ignored", "warning")
    assert warning["properties"] == "spark.executor.memory, spark.ui.enabled"


@pytest.mark.spark
@pytest.mark.long
def test_the_cpu_time_of_a_driver_s_jvm_counts_as_that_of_its_process() -> None:
    program = """
import time
from dataplane.costs.process import METER
from meta.costs.cpu_time import cpu_micros_of
from dataplane.task_runner import open_runner
from segments.spark.settings import SparkSettings

runner = open_runner(SparkSettings("test", "local[1]"))
before = METER._now().cpu_micros
print(before - time.process_time_ns() // 1_000, cpu_micros_of(runner.java_process_id))
runner.close()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )

    of_children, of_java = map(int, ended.stdout.splitlines()[-1].split())
    assert of_children > 500_000
    assert of_children == pytest.approx(of_java, rel=0.2)
