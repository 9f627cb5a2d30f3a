"""Reads that the gateway signs in a named store, with credentials of that store alone."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import boto3
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from meta import config
from segments.location import NamedStore, StoreLocation
from segments.store import credentials
from segments.store.cloud import signing
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.object_store import clouds
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw
from tests.support.placement.two_stores import COLD, Placement
from tests.support.visible_segments import key_of

TOKEN = "the-token-of-this-gateway"
# Keys of another provider of S3, which knows nothing of those of the default store.
OTHERS = ("other-provider", "secret-of-the-other")
KEYS = f"[default]\naws_access_key_id = {OTHERS[0]}\naws_secret_access_key = {OTHERS[1]}\n"
ACCOUNT = "cold@example-project.iam.gserviceaccount.com"


@pytest.fixture
def s3_location(
    tmp_path: Path, aws_credentials: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StoreLocation]:
    """Name a bucket of a second server with its own keys."""
    (tmp_path / "other-provider").mkdir()
    with running_versitygw(tmp_path / "other-provider", root=OTHERS) as url:
        client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=OTHERS[0],
            aws_secret_access_key=OTHERS[1],
        )
        client.create_bucket(Bucket="cold-bucket")
        location = StoreLocation("s3", url, "cold-bucket", "us-east-1", "base")
        own_file(location, tmp_path, KEYS, monkeypatch)
        yield location


@pytest.fixture
def azure_location(
    azure_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StoreLocation:
    """Name a container whose account's key is in a file alone."""
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    location = clouds.azure_location(azure_endpoint)
    own_file(location, tmp_path, clouds.ACCOUNT_KEY, monkeypatch)
    return location


@pytest.fixture
def account_location(
    gcs_location: StoreLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StoreLocation:
    """Name a bucket of Google's protocol that has its own service account."""
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    key = rsa.generate_private_key(65_537, 2_048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    described = {
        "type": "service_account",
        "client_email": ACCOUNT,
        "private_key": key.decode(),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    own_file(gcs_location, tmp_path, json.dumps(described), monkeypatch)
    return gcs_location


def own_file(
    location: StoreLocation, folder: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "credentials").write_text(text)
    monkeypatch.setenv(credentials.setting_of(location), str(folder / "credentials"))


@pytest.fixture(params=["s3", "account", "azure"])
def cold(request: pytest.FixtureRequest) -> Iterator[StoreLocation]:
    """Name a store of each kind, with its own credentials."""
    # A signer is kept with the credentials that its process began with.
    signing._signer.cache_clear()
    yield request.getfixturevalue(f"{request.param}_location")
    signing._signer.cache_clear()


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings,
    versitygw_endpoint: str,
    aws_credentials: None,
    cold: StoreLocation,
) -> config.Settings:
    """Give meta a bucket as the default store, and the other beside it."""
    location = fresh_location(versitygw_endpoint)
    return replace(meta_settings, location=location, named_stores=(NamedStore(COLD, cold),))


@pytest.fixture
def gateway(meta_server: MetaServer) -> Iterator[GatewayServer]:
    access = AccessSettings(ACCESS_KEY, SECRET_KEY, are_callers_known=True)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=access)
    yield running
    running.close()


def signed(gateway: GatewayServer, placement: Placement, location: StoreLocation) -> Answer:
    """Ask for a signature for the dataset's newest segment, which is in a store."""
    key = f"{location.path}/{key_of(placement.segments()[-1])}"
    url = f"{location.endpoint}/{location.bucket}/{key}"
    body = {"method": "GET", "uri": url, "region": "us-east-1", "headers": {}}
    path = f"iceberg/v1/namespaces/default/tables/{placement.name}/sign"
    return gateway.post(path, body, Authorization=f"Bearer {TOKEN}")


def status_of(answer: Answer, location: StoreLocation) -> int:
    """Read the object as a caller does that has nothing but the answer."""
    headers = {name: values[0] for name, values in answer.json["headers"].items()}
    if location.provider == "gcs":
        # fake-gcs-server gives objects by signed URLs to Google's own host alone.
        headers["Host"] = "storage.googleapis.com"
    with urlopen(Request(answer.json["uri"], headers=headers), timeout=20) as reply:
        return int(reply.status)


def test_reads_of_each_store_are_signed_with_its_own_credentials(
    placement: Placement, gateway: GatewayServer, cold: StoreLocation
) -> None:
    default = placement.server.settings.location
    placement.send()
    assert status_of(signed(gateway, placement, default), default) == 200
    placement.move()
    placement.send()

    answer = signed(gateway, placement, cold)

    assert answer.status == 200, answer.body
    assert status_of(answer, cold) == 200
    if cold.provider == "gcs":
        # The server checks no signature.
        (signer,) = parse_qs(urlsplit(answer.json["uri"]).query)["X-Goog-Credential"]
        assert signer.startswith(f"{ACCOUNT}/")


@pytest.mark.parametrize("cold", ["s3"], indirect=True)
def test_a_store_whose_keys_cannot_be_read_is_named_and_the_other_is_signed(
    placement: Placement, gateway: GatewayServer, cold: StoreLocation, tmp_path: Path
) -> None:
    default = placement.server.settings.location
    placement.send()
    here = signed(gateway, placement, default)
    placement.move()
    placement.send()
    (tmp_path / "credentials").unlink()

    answer = signed(gateway, placement, cold)

    assert answer.status == 503, answer.body
    assert "SEGPLANE_CREDENTIALS_COLD_BUCKET" in answer.message
    assert status_of(here, default) == 200
