"""One session of Spark for all tests of a process.

A session starts up to six Pythons of its own, each of which imports for more than a second.
"""

from pyspark.sql import SparkSession

from segments.spark.session import open_session
from segments.spark.settings import SparkSettings

SETTINGS = SparkSettings(
    "tests",
    "local[2]",
    task_modules=("segplane.read.spark.source", "nursery.execution.job", "merge_worker.job"),
)


def shared_session() -> SparkSession:
    """Give a session that shares its executors with all others, and has its own settings and views.

    It is begun anew if a test stopped it. Nobody has to stop it.
    """
    session = open_session(SETTINGS).newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    # To compile a query takes longer than to interpret it over the few rows of a test.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


def stop_shared_session() -> None:
    """Make room for a session with other settings: a process has one at a time."""
    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
