"""The Spark session: one builder, for the nursery and the merge worker alike.

Only plain tasks over Python objects run in it: no record passes through the JVM.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NoReturn

from pyspark import SparkContext
from pyspark.sql import SparkSession

from segments.errors import ReleaseChanged, RunnerDied, RunnerUnusable
from segments.spark import daemon
from segments.spark.java import check_java
from segments.spark.settings import SparkSettings
from segments.spark.versions import (
    ADVICE,
    Row,
    difference,
    refusal,
    survey,
    versions_here,
)

# Time for a JVM whose connections are closed already.
_END_SECS = 1.0

_FIRST_JOBS_MAX = 3
# Java's message if an executor's interpreter is missing.
_NO_PROGRAM = "Cannot run program"
_LOOPBACK = "127.0.0.1"
_LINE_CHARACTERS_MAX = 500
# The last line of a traceback of Python.
_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)$", re.MULTILINE)
_PY4J = "An error occurred while calling"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# A driver only plans and passes results on. Without the optimizing compiler and with one collecting
# thread its start took half the CPU and a job no more. One that lacks memory is started again.
_LIGHT_JVM = "-XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError"
_LIGHT_COLLECTOR = "-XX:+UseSerialGC"
_OTHER_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


class SparkUnusable(RunnerUnusable):
    """Spark cannot run as the machine is set up; the message says what an operator must change."""


class SparkDied(RunnerDied):
    """The session's JVM has ended. Nothing can be run in this process any more: end it."""


class SparkNotStarted(SparkDied):
    """Spark's first job failed, or was cut off: only another start of the process can tell."""


def open_session(settings: SparkSettings) -> SparkSession:
    """Start the process's one session, which takes seconds: do it before the first poll.

    Raises SparkUnusable if Java is missing or too old, the session will not start, no executor
    comes in time, or one runs another release than we do; SparkDied if the JVM is killed meanwhile,
    SparkNotStarted if the first jobs fail otherwise, such as by a Python that the kernel killed.
    """
    check_java()
    # Noted before an installation can change them.
    versions_here()
    os.environ["PYSPARK_PYTHON"] = _executors_python(settings)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if settings.is_on_this_machine:
        # Spark's UI, which anyone who reaches it may read, listens there as well.
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    with as_file(files(__package__) / "log4j2.properties") as log_config:
        try:
            spark = _builder(settings, log_config).getOrCreate()
            executors = _first_jobs(spark, settings)
        except (RunnerUnusable, RunnerDied):
            raise
        except Exception as error:
            check_versions(error, settings)
            if name := signal_of_end(error, SparkContext._gateway):
                raise SparkDied(f"{name} ended the Spark JVM while it started") from error
            raise SparkUnusable(
                f"Spark at {settings.master} did not start: {cause_of(error)}"
            ) from error
    if mismatch := difference(versions_here(), executors):
        _refuse(f"{mismatch}: {ADVICE}", settings)
    return spark


def cores(spark: SparkSession, settings: SparkSettings) -> int:
    """Number of tasks that run at once."""
    if settings.is_local:
        return spark.sparkContext.defaultParallelism
    return settings.cores_max


def first_line(error: Exception) -> str:
    """First line of the cause of a failed job: of the error in Python, if there is one.

    Py4J's own message and Spark's do not name it.
    """
    if raised := _RAISED.findall(str(error)):
        return str(raised[-1])[:_LINE_CHARACTERS_MAX]
    stripped = (line.strip(" :\t") for line in str(error).splitlines())
    lines = [line for line in stripped if line and not line.startswith(_PY4J)]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:_LINE_CHARACTERS_MAX]


def cause_of(error: Exception) -> str:
    """One line of what may be pages of Java and Python stack traces: the innermost message."""
    text = str(error)
    if "stopped SparkContext" in text:
        # Names the place where it was stopped, never the reason.
        return "its master does not answer, or turned us away"
    lines = text.partition("\n\tat ")[0].strip().splitlines()
    return lines[-1].lstrip(": ") if lines else type(error).__name__


def _executors_python(settings: SparkSettings) -> str:
    """Executors run the interpreter that runs us, unless a cluster has one of its own for them."""
    configured = "" if settings.is_local else os.environ.get("PYSPARK_PYTHON", "")
    return dict(settings.conf).get("spark.pyspark.python", "") or configured or sys.executable


def _first_jobs(spark: SparkSession, settings: SparkSettings) -> list[Row]:
    """Run the survey, again if a part of it was killed: the kernel does that to one process."""
    attempt = 1
    while True:
        try:
            return _survey(spark, settings)
        except SparkUnusable:
            raise
        except Exception as error:
            check_versions(error, settings)
            if name := signal_of_end(error, SparkContext._gateway):
                raise SparkDied(f"{name} ended the Spark JVM while it started") from error
            if _NO_PROGRAM in str(error):
                raise SparkUnusable(
                    f"executors of {settings.master} start no Python: {cause_of(error)}"
                ) from error
            if attempt == _FIRST_JOBS_MAX:
                raise SparkNotStarted(
                    f"the first job at {settings.master} failed {attempt} times: {cause_of(error)}"
                ) from error
            attempt += 1


def _survey(spark: SparkSession, settings: SparkSettings) -> list[Row]:
    """Learn what executors run. Starts their Python as well, which takes seconds more."""
    context = spark.sparkContext
    is_late = threading.Event()

    def give_up() -> None:
        is_late.set()
        context.cancelAllJobs()

    timer = threading.Timer(settings.start_secs, give_up)
    timer.daemon = True
    timer.start()
    rows: list[Row] = []
    try:
        # The first job waits for the first executor. The second is as wide as jobs will be, so that
        # it also runs on the executors that have come since. A local master is its only executor.
        for tasks in (1,) if settings.is_local else (1, cores(spark, settings)):
            rows += context.parallelize(range(tasks), tasks).mapPartitions(survey()).collect()
    except Exception as error:
        if not is_late.is_set():
            raise
        raise SparkUnusable(
            f"no executor of {settings.master} was free within {settings.start_secs:g} s: start"
            " workers, ask for fewer cores, or less memory than they have; executors that fail to"
            " start say why in their own logs"
        ) from error
    finally:
        timer.cancel()
    return rows


def check_versions(error: Exception, settings: SparkSettings) -> None:
    """Raise if a job failed because an executor runs another release than we do.

    SparkUnusable on a cluster; ReleaseChanged on a local master, where the release is one.
    """
    if mismatch := refusal(str(error)):
        _refuse(mismatch, settings, error)


def _refuse(mismatch: str, settings: SparkSettings, error: Exception | None = None) -> NoReturn:
    raise ReleaseChanged if settings.is_local else SparkUnusable(mismatch) from error


def check_alive(spark: SparkSession) -> None:
    """Raise SparkDied if no job can run: a dead gateway poisons every later session."""
    gateway = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is not None:
        raise SparkDied(f"the Spark JVM ended with code {process.returncode}")
    try:
        is_stopped = bool(spark.sparkContext._jsc.sc().isStopped())
    except Exception as error:
        raise SparkDied(f"the Spark JVM does not answer: {type(error).__name__}") from error
    if is_stopped:
        raise SparkDied("the Spark context was stopped")
    # Tasks pass through files in it. Programs that tidy up /tmp delete it.
    if not os.path.isdir(spark.sparkContext._temp_dir):
        raise SparkDied(f"Spark's scratch folder {spark.sparkContext._temp_dir} was deleted")


def _builder(settings: SparkSettings, log_config: Path) -> SparkSession.Builder:
    options = {
        "spark.ui.enabled": str(bool(settings.ui_port)).lower(),
        "spark.ui.port": str(settings.ui_port),
        # The UI has no login.
        "spark.ui.killEnabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A second copy of a task does no harm, but it writes a second copy of its files.
        "spark.speculation": "false",
        "spark.cores.max": str(settings.cores_max),
        "spark.driver.memory": settings.driver_memory,
        # Arrow's allocator else gives every freed block back at once: 8 % of a merge's time.
        "spark.executorEnv.MIMALLOC_PURGE_DELAY": "10000",
        "spark.python.daemon.module": daemon.__name__,
        f"spark.executorEnv.{daemon.MODULES}": ",".join(settings.task_modules),
        "spark.log.level": "ERROR",
        # Several merge tasks run side by side as their own jobs.
        "spark.scheduler.mode": "FAIR",
    }
    if settings.is_on_this_machine:
        # No other host is contacted, so the driver does not need this host's name.
        options["spark.driver.host"] = options["spark.driver.bindAddress"] = _LOOPBACK
    if settings.is_local and sys.flags.safe_path:
        options["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    options.update(settings.conf)
    options[_JAVA_OPTIONS] = _java_options(options.get(_JAVA_OPTIONS, ""), log_config)
    # pyspark's `builder` is a class property that its types do not know.
    builder: SparkSession.Builder = SparkSession.Builder().appName(settings.app_name)
    builder = builder.master(settings.master)
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder


def _java_options(configured: str, log_config: Path) -> str:
    collector = "" if _OTHER_COLLECTOR.search(configured) else _LIGHT_COLLECTOR
    log_option = f"-Dlog4j2.configurationFile={log_config}"
    # The last of two values of an option counts, but two collectors are refused.
    return " ".join(filter(None, (log_option, _LIGHT_JVM, collector, configured)))


def signal_of_end(error: Exception, gateway: Any) -> str:
    """Name of the signal that ended the JVM of a failed start; "" if it runs or ended by itself.

    `gateway` is Py4J's, None if the JVM died before there was one.
    """
    process = getattr(gateway, "proc", None) or _launched(error)
    if process is None:
        return ""
    try:
        code = process.wait(_END_SECS)
    except subprocess.TimeoutExpired:
        return ""
    # The shell scripts around the JVM pass a signal on as 128 + its number, and so does the JVM.
    number = -code if code < 0 else code - 128
    return signal.Signals(number).name if number in set(signal.Signals) else ""


def _launched(error: Exception) -> "subprocess.Popen[bytes] | None":
    """Find the process in the frame of pyspark's launcher, which keeps it until it is connected."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        process = frame.f_locals.get("proc")
        if isinstance(process, subprocess.Popen):
            return process
    return None
