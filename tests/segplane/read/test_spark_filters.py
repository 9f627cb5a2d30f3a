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
NAN_CONDITIONS = (
    "isnan(value_double)",
    "value_double > 100",
    "NOT (value_double < 100)",
    "value_double = double('NaN')",
    "value_double <> 1",
    "value_double IN (1, double('NaN'))",
    "value_double = -0.0D",
    "value_double IS NOT NULL",
)
OPERATORS = ["=", "<=>", "<", "<=", ">", ">=", "<>"]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", ["source", "native"])
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
        return native if path == "native" else load(spark, meta_server)

    row = unfiltered[7]
    names = ["timestamp", "timestamp_nanos", "service_name", "severity_number", "value_double"]
    for operator in OPERATORS:
        # Each filter is a job of Spark, so that all columns take minutes.
        column = names[OPERATORS.index(operator) % len(names)]
        for name in names if columns == "all" else [column]:
            values = [row[name], *(r[name] for r in unfiltered)]
            value = next(v for v in values if v is not None)
            literal = f.lit(value)
            condition = f.expr(f"{name} {operator} probe")
            frame = used_once()
            filtered = frame.withColumn("probe", literal).where(condition).count()
            rows = spark.createDataFrame(
                [(r[name],) for r in unfiltered], StructType([frame.schema[name]])
            )
            expected = rows.withColumn("probe", literal).where(condition).count()
            assert filtered == expected, (name, operator)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", ["source", "native"])
def test_spark_finds_nan_in_files_whose_bounds_leave_it_out(
    spark: SparkSession,
    meta_server: MetaServer,
    segments: SegmentWriter,
    opened: Open,
    path: str,
) -> None:
    segments.has_float_bounds = True
    segments.write(signals=("metrics",), rows=40)
    native = opened().spark(spark)
    names = ["timestamp", "value_double"]
    rows = [tuple(row[name] for name in names) for row in opened().to_table().to_pylist()]
    own = spark.createDataFrame(rows, native.select(*names).schema)

    def used_once() -> DataFrame:
        return native if path == "native" else load(spark, meta_server)

    for condition in NAN_CONDITIONS:
        found = used_once().where(condition).select(*names).collect()
        assert sorted(map(repr, found)) == sorted(map(repr, own.where(condition).collect()))
    assert used_once().where("isnan(value_double)").count() > 0
