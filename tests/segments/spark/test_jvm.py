"""The end of a JVM behind a Spark session that did not start; a shell stands for the JVM."""

import subprocess
from types import SimpleNamespace

import pytest

from segments.spark.session import signal_of_end


@pytest.mark.parametrize(
    ("script", "name"),
    [
        pytest.param("kill -TERM $$", "SIGTERM", id="by a signal"),
        pytest.param("exit 137", "SIGKILL", id="by one that a script passes on"),
        pytest.param("exit 1", "", id="by itself"),
        pytest.param("exit 0", "", id="at its end"),
    ],
)
def test_the_signal_that_ended_a_jvm_is_named(script: str, name: str) -> None:
    with subprocess.Popen(["sh", "-c", script]) as process:
        assert signal_of_end(RuntimeError(), SimpleNamespace(proc=process)) == name
