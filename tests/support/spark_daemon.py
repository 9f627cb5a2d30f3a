"""PySpark's daemon, which forks Spark's Pythons, with what readers import already there.

Spark starts new Pythons for a killed one and after a minute without work. Each would import all of
it again, which takes more than a second of CPU.
"""

from pyspark.daemon import manager

import segplane.read.spark.source  # noqa: F401

if __name__ == "__main__":
    manager()
