"""Drivers for service tests: each says only what a test is about."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer


@pytest.fixture
def catalog(meta_client: MetaClient) -> CatalogDriver:
    """Make datasets and tokens."""
    return CatalogDriver(meta_client)


@pytest.fixture
def collector(meta_client: MetaClient) -> IngestionDriver:
    """Give a collector with its own name."""
    return IngestionDriver(meta_client, f"collector-{uuid4().hex}")


@pytest.fixture
def nursery(meta_client: MetaClient) -> NurseryDriver:
    """Give a nursery."""
    return NurseryDriver(meta_client)


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    """Give a writer of segments."""
    return Writer(meta_client)


@pytest.fixture
def worker(meta_client: MetaClient) -> WorkerDriver:
    """Give a merge worker."""
    return WorkerDriver(meta_client)
