"""The runner that a master names."""

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
