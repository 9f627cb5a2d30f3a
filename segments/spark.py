"""The Spark session of the nursery and the merge workers: one a process, started once, kept."""

import os
import sys
from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a session is made of.

    `master` is local[n], spark:// or k8s://; `cores_max` bounds what it takes of a cluster, which
    otherwise is everything; `driver_memory` is the JVM's, as Spark writes it.
    """

    app_name: str
    master: str = "local[*]"
    cores_max: int = 8
    driver_memory: str = "768m"


def build_session(settings: SessionSettings) -> SparkSession:
    """Start the session; takes 5 to 20 s. Raises whatever Spark does, with Java's reason in it.

    Takes over SIGINT as PySpark does: install the process's own handlers afterwards.
    """
    # PySpark reads the worker's interpreter from here alone; any other would lack our packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.Builder().appName(settings.app_name).master(settings.master)
    for name, value in _options(settings).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _options(settings: SessionSettings) -> dict[str, str]:
    options = {
        "spark.cores.max": str(settings.cores_max),
        "spark.driver.memory": settings.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A second copy of a task would only write a second object.
        "spark.speculation": "false",
        # Python workers stay for the next job: starting one costs more than a small job.
        "spark.python.worker.reuse": "true",
        "spark.scheduler.mode": "FAIR",
    }
    if settings.master.startswith("local"):
        options["spark.driver.host"] = options["spark.driver.bindAddress"] = "127.0.0.1"
    return options
