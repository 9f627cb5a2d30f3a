"""Object stores for tests: a folder, buckets of two S3 servers, and of two other clouds."""

from pathlib import Path

import pytest

from segments.location import NamedStore, StoreLocation, Stores
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores


@pytest.fixture
def folder_location(tmp_path: Path) -> StoreLocation:
    """Make a fresh folder."""
    folder = tmp_path / "objects"
    folder.mkdir()
    return StoreLocation.from_url(f"file://{folder}")


@pytest.fixture(
    params=["folder", "s3", "versitygw", "gcs", "azure", "several"],
    ids=["folder", "moto", "versitygw", "gcs", "azure", "several"],
)
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """Open each kind of store in turn, empty."""
    if request.param == "several":
        several: ObjectStore = request.getfixturevalue("several_stores")
        return several
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return open_store(location)


@pytest.fixture
def several_stores(tmp_path: Path) -> ObjectStore:
    """Open two folders as one store; keys that name no store are in the first."""
    for name in ("default", "cold"):
        (tmp_path / name).mkdir()
    default, cold = (
        StoreLocation.from_url((tmp_path / name).as_uri()) for name in ("default", "cold")
    )
    return open_stores(Stores(default, (NamedStore("cold", cold),)))
