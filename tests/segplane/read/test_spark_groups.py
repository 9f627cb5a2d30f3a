"""A dataset of a group in Spark: by our data source, by Spark's own reader, and as a stream."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from segplane.read.errors import ReadError
from segplane.read.spark.options import read_options
from segplane.read.spark.snapshot import open_snapshot
from tests.segplane.read.conftest import Open
from tests.segplane.read.test_dataset import promote
from tests.support.meta.grouped_datasets import grouped
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.spark
COLUMNS = "dataset,body,dataset_id"


@pytest.mark.long
def test_a_dataset_of_a_group_is_read_and_streamed(
    spark: SparkSession, meta_server: MetaServer, opened: Open, tmp_path: Path
) -> None:
    Path("/", meta_server.settings.location.path).mkdir(exist_ok=True)
    web = grouped(meta_server.client, tmp_path, "shop", web=3)["web"]
    # One file has to be converted.
    promote(web)
    web.write(rows=4, day=1)
    options = {"metaAddress": meta_server.address}

    plain = spark.read.format("segplane").options(**options).load("shop/web")
    named = spark.read.format("segplane").options(**options, columns=COLUMNS).load("shop/web")
    pushed = {"columns": COLUMNS, "pushFilters": "true"}
    narrow = spark.read.format("segplane").options(**options, **pushed).load("shop/web")
    native = opened("shop/web", columns=COLUMNS.split(",")).spark(spark)

    assert plain.count() == 7
    assert not {"dataset", "dataset_id"} & set(plain.columns)
    for frame in (named, native):
        assert frame.columns == COLUMNS.split(",")
        rows = frame.groupBy("dataset", "dataset_id").count().collect()
        assert [tuple(row) for row in rows] == [("shop/web", web.dataset, 7)]
        assert frame.where(f.col("dataset") == "web").count() == 0
    assert narrow.where(f.col("dataset") == "shop/web").count() == 7
    stream = spark.readStream.format("segplane").options(**options, columns=COLUMNS)
    query = (
        stream.load("shop/web")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "rows"))
    )
    assert query.awaitTermination(120)
    streamed = spark.read.parquet(str(tmp_path / "rows")).groupBy("dataset").count()
    assert [tuple(row) for row in streamed.collect()] == [("shop/web", 7)]
    with pytest.raises(ReadError, match="there is no dataset 'shop/none'"):
        open_snapshot(read_options({**options, "dataset": "shop/none"}))
