"""A real Spark session for the nursery's job."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from segments.spark import open_session
from segments.spark_settings import SparkSettings


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Start one session for a module's tests."""
    session = open_session(SparkSettings("tests of the nursery", "local[2]"))
    yield session
    session.stop()
