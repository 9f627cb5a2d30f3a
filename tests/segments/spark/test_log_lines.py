"""Spark's own log, beside that of the process that started it."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark
_SCRIPT = """
from segments.spark.session import open_session
from segments.spark.settings import SparkSettings

session = open_session(SparkSettings("test of its log", "local[1]"))
logging = session._jvm.org.apache.logging.log4j.LogManager.getLogger("org.apache.spark.Some")
logging.error("two\\nlines", session._jvm.java.lang.IllegalStateException("cause"))
session.stop()
"""


@pytest.mark.long
def test_an_error_of_spark_is_one_line_of_json() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True, timeout=120
    )

    (line,) = [line for line in done.stderr.splitlines() if "two" in line]
    entry = json.loads(line)
    assert (entry["event"], entry["level"]) == ("spark_message", "error")
    assert (entry["logger"], entry["message"]) == ("org.apache.spark.Some", "two\nlines")
    assert "IllegalStateException: cause" in entry["exception"]
