"""The package in which PySpark looks for data sources: `spark.read.format("segplane")`."""

from segplane.read.spark.source import SegplaneSource as DefaultSource

__all__ = ["DefaultSource"]
