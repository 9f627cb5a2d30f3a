"""Spark reads a dataset that is in two stores, and one that is in another cloud."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from meta import config
from meta.v1 import operations_pb2 as pb
from segments.location import NamedStore, StoreLocation
from segplane.read import open_dataset
from segplane.read.spark.source import SegplaneSource
from tests.segplane.read.conftest import spark
from tests.support.object_store import clouds
from tests.support.placement.two_stores import COLD, Placement

pytestmark = pytest.mark.spark
# Fixtures.
__all__ = ["spark"]


@pytest.fixture(autouse=True)
def _key_of_azure(spark: SparkSession) -> Iterator[None]:
    """Give Spark's workers Azure's key, as spark.executorEnv does that of a session."""
    environment = spark.sparkContext.environment
    environment["AZURE_STORAGE_KEY"] = clouds.ACCOUNT_KEY
    # A source that is registered keeps the environment of that moment.
    spark.dataSource.register(SegplaneSource)
    yield
    del environment["AZURE_STORAGE_KEY"]
    spark.dataSource.register(SegplaneSource)


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings, cold: str, request: pytest.FixtureRequest
) -> config.Settings:
    """Give meta a store of the kind in the place of its folder."""
    if cold == "folder":
        return meta_settings
    location: StoreLocation = request.getfixturevalue(f"{cold}_location")
    return replace(meta_settings, named_stores=(NamedStore(COLD, location),))


@pytest.mark.long
@pytest.mark.parametrize(
    "cold", ["folder", *(pytest.param(cloud, marks=pytest.mark.slow) for cloud in ("gcs", "azure"))]
)
def test_spark_sees_each_record_once_before_during_and_after_a_move(
    placement: Placement, spark: SparkSession, cold: str
) -> None:
    address = placement.server.address

    def check() -> None:
        source = spark.read.format("segplane").option("metaAddress", address).load(placement.name)
        with open_dataset(placement.name, meta_address=address) as opened:
            assert bodies(opened.spark(spark)) == bodies(source) == sorted(placement.sent)

    placement.send()
    job = placement.move()
    placement.send()
    assert placement.buckets() == {"objects": 1, COLD: 1}
    check()

    assert placement.finish(job).state == pb.REWRITE_JOB_STATE_DONE
    placement.delete_tombstoned()
    assert placement.buckets() == {COLD: 2}
    check()


def bodies(frame: DataFrame) -> list[str]:
    return sorted(row["body"] for row in frame.select("body").collect())
