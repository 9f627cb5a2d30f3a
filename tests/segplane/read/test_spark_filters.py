"""Filters that Spark hands to a source mean there what they mean in Spark."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from segments.signals import SIGNALS
from tests.segplane.read.conftest import Open
from tests.segplane.read.test_spark_batch import load
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.spark
OPERATORS = ["=", "<=>", "<", "<=", ">", ">=", "<>"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", ["pushed", "native"])
@pytest.mark.parametrize("columns", ["one", pytest.param("all", marks=pytest.mark.slow)])
def test_a_filter_means_what_spark_means(
    spark: SparkSession,
    meta_server: MetaServer,
    segments: SegmentWriter,
    opened: Open,
    path: str,
    columns: str,
) -> None:
    segments.write(signals=SIGNALS)
    unfiltered = opened().to_table().to_pylist()
    native = opened().spark(spark)

    def used_once() -> DataFrame:
        return native if path == "native" else load(spark, meta_server, pushFilters="true")

    row = unfiltered[7]
    names = ["timestamp", "timestamp_nanos", "service_name", "severity_number"]
    if path == "pushed":
        # Spark's own reader prunes by statistics without NaN, which is above them to Spark.
        names.append("value_double")
    for operator in OPERATORS:
        # Each filter is a job of Spark, so that all columns take minutes.
        column = names[OPERATORS.index(operator) % len(names)]
        for name in names if columns == "all" else [column]:
            values = [row[name], *(r[name] for r in unfiltered)]
            value = next(
                v for v in values if v is not None and (path == "pushed" or str(v) != "nan")
            )
            literal = f.lit(value)
            condition = f.expr(f"{name} {operator} probe")
            frame = used_once()
            filtered = frame.withColumn("probe", literal).where(condition).count()
            rows = spark.createDataFrame(
                [(r[name],) for r in unfiltered], StructType([frame.schema[name]])
            )
            expected = rows.withColumn("probe", literal).where(condition).count()
            assert filtered == expected, (name, operator)
