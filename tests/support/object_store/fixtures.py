"""Fixtures of stores: moto behind a lock and a proxy before it, VersityGW, and other clouds.

`tests/conftest.py` names this module as a plugin, so that each server is started once a session; a
module that imports a fixture has one of its own, and Azurite alone takes 4 s to start. Libraries of
clouds are imported by the fixtures: most runs of a few tests need none.
"""

from collections.abc import Iterator

import pytest

from segments.location import StoreLocation
from tests.support.object_store.faulty_proxy import FaultyProxy, running_proxy
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Run moto's S3 on a free port; returns its URL."""
    from tests.support.object_store.moto import running_moto

    with running_moto() as url:
        yield url


@pytest.fixture
def proxy(s3_endpoint: str) -> Iterator[FaultyProxy]:
    """Run a proxy in front of moto."""
    with running_proxy(s3_endpoint) as server:
        yield server


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give credentials that all servers take, and keep boto3 from asking the machine for others."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="session")
def versitygw_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run VersityGW; returns its URL."""
    with running_versitygw(tmp_path_factory.mktemp("versitygw")) as url:
        yield url


@pytest.fixture
def store(versitygw_endpoint: str, aws_credentials: None) -> Iterator[FaultyProxy]:
    """Run a proxy in front of VersityGW."""
    with running_proxy(versitygw_endpoint) as server:
        yield server


@pytest.fixture
def s3_location(s3_endpoint: str, aws_credentials: None) -> StoreLocation:
    """Name a fresh path of a bucket of moto."""
    from tests.support.object_store.moto import fresh_location

    return fresh_location(s3_endpoint)


@pytest.fixture
def versitygw_location(versitygw_endpoint: str, aws_credentials: None) -> StoreLocation:
    """Name a fresh path of a bucket of VersityGW."""
    from tests.support.object_store.moto import fresh_location

    return fresh_location(versitygw_endpoint)


@pytest.fixture(scope="session")
def gcs_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server of Google Cloud Storage's protocol; returns its URL."""
    from tests.support.object_store import clouds

    with clouds.running_gcs(tmp_path_factory.mktemp("gcs")) as url:
        yield url


@pytest.fixture(scope="session")
def azure_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run Azurite; returns the URL of its account."""
    from tests.support.object_store import clouds

    with clouds.running_azure(tmp_path_factory.mktemp("azurite")) as url:
        yield url


@pytest.fixture
def gcs_location(gcs_endpoint: str) -> StoreLocation:
    """Name a fresh path of a bucket of the server."""
    from tests.support.object_store import clouds

    return clouds.gcs_location(gcs_endpoint)


@pytest.fixture
def azure_location(azure_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> StoreLocation:
    """Name a fresh path of a container of Azurite."""
    from tests.support.object_store import clouds

    monkeypatch.setenv("AZURE_STORAGE_KEY", clouds.ACCOUNT_KEY)
    return clouds.azure_location(azure_endpoint)
