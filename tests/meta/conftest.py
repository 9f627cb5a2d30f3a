"""Drivers for service tests: each says only what a test is about."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from tests.support.meta.catalog import Catalog
from tests.support.meta.ingestion import Collector
from tests.support.meta.nursery import Nursery
from tests.support.meta.segments import Worker, Writer


@pytest.fixture
def catalog(meta_client: MetaClient) -> Catalog:
    """Make datasets and tokens."""
    return Catalog(meta_client)


@pytest.fixture
def collector(meta_client: MetaClient) -> Collector:
    """Give a collector with a name of its own."""
    return Collector(meta_client, f"collector-{uuid4().hex}")


@pytest.fixture
def nursery(meta_client: MetaClient) -> Nursery:
    """Give a nursery."""
    return Nursery(meta_client)


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    """Give a writer of segments."""
    return Writer(meta_client)


@pytest.fixture
def worker(meta_client: MetaClient) -> Worker:
    """Give a merge worker."""
    return Worker(meta_client)
