"""Where PySpark looks for data sources by itself: `spark.read.format("segplane")`."""

from segplane.read.spark.source import SegplaneSource as DefaultSource

__all__ = ["DefaultSource"]
