"""The Java that Spark needs; importing this module needs no Spark."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from segments.errors import RunnerUnusable

JAVA_MAJOR_MIN = 17
_TIMEOUT_SECS = 30
WITHOUT_SPARK = "or set SEGPLANE_SPARK_MASTER=processes, which runs tasks without Spark"
_ADVICE = f"install Java {JAVA_MAJOR_MIN} or newer, or set JAVA_HOME; {WITHOUT_SPARK}"


def check_java() -> None:
    """Raise RunnerUnusable unless Java 17 or newer can be started."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        raise RunnerUnusable(f"no java found{f' in {home}' if home else ''}: {_ADVICE}")
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_SECS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RunnerUnusable(f"{java} does not start: {error}") from error
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if done.returncode or not match:
        raise RunnerUnusable(f"{java} does not say its version: {_ADVICE}")
    if int(match[1]) < JAVA_MAJOR_MIN:
        raise RunnerUnusable(f"{java} is Java {match[1]}: {_ADVICE}")
