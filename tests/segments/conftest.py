"""Object stores for tests: a folder, buckets of two S3 servers, and of two other clouds."""

from pathlib import Path

import pytest

from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.object_store.fixtures import (
    aws_credentials,
    azure_endpoint,
    azure_location,
    gcs_endpoint,
    gcs_location,
    proxy,
    s3_endpoint,
    s3_location,
    versitygw_endpoint,
    versitygw_location,
)

__all__ = [
    "aws_credentials",
    "azure_endpoint",
    "azure_location",
    "gcs_endpoint",
    "gcs_location",
    "proxy",
    "s3_endpoint",
    "s3_location",
    "versitygw_endpoint",
    "versitygw_location",
]


@pytest.fixture
def folder_location(tmp_path: Path) -> StoreLocation:
    """Make a fresh folder."""
    folder = tmp_path / "objects"
    folder.mkdir()
    return StoreLocation.from_url(f"file://{folder}")


@pytest.fixture(
    params=["folder", "s3", "versitygw", "gcs", "azure"],
    ids=["folder", "moto", "versitygw", "gcs", "azure"],
)
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """Open each kind of store in turn, empty."""
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return open_store(location)
