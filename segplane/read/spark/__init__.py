"""Datasets in Spark without a jar: a Python data source, and Spark's own reader if possible.

PySpark finds the source by itself if `segplane` is installed; `register` does it elsewhere.
"""

from pyspark.sql import SparkSession

from segplane.read.spark.source import SegplaneSource

__all__ = ["SegplaneSource", "register"]


def register(session: SparkSession) -> None:
    """Let a session read `format("segplane")` with filters pushed down."""
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    session.dataSource.register(SegplaneSource)
