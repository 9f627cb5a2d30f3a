"""Datasets with real segments, and a function that opens them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from pyspark.sql import SparkSession

from segplane.read import OpenDataset, open_dataset
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.spark import shared_session


class Open(Protocol):
    """Opens the dataset of the test."""

    def __call__(self, name: str = "web", **options: Any) -> OpenDataset: ...


@pytest.fixture
def segments(meta_server: MetaServer, tmp_path: Path) -> SegmentWriter:
    location = meta_server.settings.location
    if location.provider == "file":
        Path("/", location.path).mkdir(exist_ok=True)
    dataset = CatalogDriver(meta_server.client).dataset("web")
    return SegmentWriter(meta_server.client, dataset, tmp_path)


@pytest.fixture
def opened(meta_server: MetaServer) -> Iterator[Open]:
    """Give a function that opens a dataset until the test ends."""
    datasets: list[OpenDataset] = []

    def call(name: str = "web", **options: Any) -> OpenDataset:
        datasets.append(open_dataset(name, meta_address=meta_server.address, **options))
        return datasets[-1]

    yield call
    for dataset in datasets:
        dataset.close()


def delete_due(meta_server: MetaServer) -> int:
    """Delete what is due as the janitor does, its objects too; returns how many."""
    writer = Writer(meta_server.client)
    due = writer.due()
    store = Path("/", meta_server.settings.location.path)
    for segment in due:
        key = segment.cloud_object_key
        (store / key.prefix.prefix / key.key).unlink(missing_ok=True)
    assert writer.confirm(*(segment.segment_id for segment in due)).HasField("success")
    return len(due)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Give a session to a module's tests."""
    session = shared_session()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    return session
