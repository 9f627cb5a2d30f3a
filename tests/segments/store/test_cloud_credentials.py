"""Credentials of other clouds: of a file, of the platform and of the workload, and none at all."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from segments.errors import StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.store import bucket, credentials
from segments.store.bucket import BucketStore
from segments.store.timeouts import RequestTimeouts
from tests.support.certificates import Authority
from tests.support.object_store import clouds
from tests.support.object_store.faulty_proxy import FaultyProxy, running_proxy
from tests.support.object_store.token_server import running_token_server

BRIEF = RequestTimeouts(connect_secs=5.0, silence_secs=5.0, deadline_secs=0.2, wait_secs_min=0.01)
TOKEN = "token-of-the-platform"
GIVEN = {"access_token": TOKEN, "expires_in": 3_600, "token_type": "Bearer"}
ACCOUNT = "segplane@example-project.iam.gserviceaccount.com"
TENANT = "00000000-0000-4000-8000-000000000001"
SETTINGS = (
    *("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"),
    *("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that this process trusts, in a process without credentials."""
    made = Authority(tmp_path / "authority")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made.ca_file))
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    # Of the credentials of a person who has logged in.
    monkeypatch.setenv("HOME", str(tmp_path))
    return made


@pytest.fixture(autouse=True)
def _fresh_clients() -> Iterator[None]:
    yield
    bucket._requests.cache_clear()


@pytest.fixture
def google(gcs_endpoint: str, authority: Authority) -> Iterator[FaultyProxy]:
    """Run a server of Google's protocol with TLS, without which no credentials are sent."""
    with running_proxy(gcs_endpoint, authority.issue("google")) as proxy:
        yield proxy


def used_tokens(proxy: FaultyProxy) -> set[str]:
    return {request.headers["authorization"] for request in proxy.requests}


def check(store: BucketStore) -> None:
    """Write, read and list an object."""
    store.put_if_absent("some/key", b"content")
    assert store.get("some/key") == b"content"
    assert [info.key for info in store.list("some/")] == ["some/key"]


def account_file(folder: Path, token_uri: str) -> Path:
    key = rsa.generate_private_key(65_537, 2_048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    described = {
        "type": "service_account",
        "client_email": ACCOUNT,
        "private_key": key.decode(),
        "token_uri": token_uri,
    }
    path = folder / "account.json"
    path.write_text(json.dumps(described))
    return path


def workload_file(folder: Path, token_url: str) -> Path:
    (folder / "workload-token").write_text("token-of-the-cluster")
    described = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": token_url,
        "credential_source": {"file": str(folder / "workload-token")},
    }
    path = folder / "workload.json"
    path.write_text(json.dumps(described))
    return path


def test_a_google_workload_has_the_identity_of_its_platform(google: FaultyProxy) -> None:
    """As on GKE with Workload Identity, and on a machine with a service account."""

    def metadata(path: str, _: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
        if "/service-accounts/" not in path:
            return (200 if path == "/" else 404), {}
        if "/token" in path:
            return 200, GIVEN
        return 200, {"email": ACCOUNT, "aliases": ["default"], "scopes": []}

    # Google's library reads these settings when it is imported.
    code = f"""
from segments.location import StoreLocation
from segments.store.open import open_store
store = open_store(StoreLocation.from_url({clouds.gcs_location(google.url).url()!r}))
store.put_if_absent("some/key", b"content")
assert store.get("some/key") == b"content"
"""
    with running_token_server(metadata) as server:
        names = ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP")
        environment = {**os.environ, **dict.fromkeys(names, server.host)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)

    assert used_tokens(google) == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("kind", ["account", "workload"])
@pytest.mark.parametrize("is_own", [False, True], ids=["of the process", "of the bucket"])
def test_a_file_of_googles_is_exchanged_for_tokens(
    google: FaultyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    is_own: bool,
) -> None:
    location = clouds.gcs_location(google.url)
    with running_token_server(lambda *_: (200, GIVEN)) as server:
        make = account_file if kind == "account" else workload_file
        path = make(tmp_path, f"{server.url}/token")
        name = credentials.setting_of(location) if is_own else "GOOGLE_APPLICATION_CREDENTIALS"
        monkeypatch.setenv(name, str(path))
        check(BucketStore(location, BRIEF))
        forms = server.forms

    assert used_tokens(google) == {f"Bearer {TOKEN}"}
    if kind == "workload":
        assert forms[0]["subject_token"] == "token-of-the-cluster"
    else:
        claims = jwt.decode(forms[0]["assertion"], options={"verify_signature": False})
        assert claims["iss"] == ACCOUNT


@pytest.mark.parametrize("make", [account_file, workload_file])
def test_a_token_that_google_refuses_is_for_an_operator_and_no_answer_is_not(
    google: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    answers: list[tuple[int, Mapping[str, Any]]] = []
    location = clouds.gcs_location(google.url)
    with running_token_server(lambda *_: answers[-1]) as server:
        path = make(tmp_path, f"{server.url}/token")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        store = BucketStore(location, BRIEF)
        answers.append((400, {"error": "invalid_grant", "error_description": "key is revoked"}))
        with pytest.raises(StoreUnusable, match=r"refused the credentials.*revoked") as refused:
            store.get("key")
        answers.append((503, {}))
        with pytest.raises(StoreUnavailable):
            store.get("key")

    assert "\n" not in str(refused.value)
    assert google.requests == []


@pytest.fixture
def azure(authority: Authority, tmp_path: Path) -> Iterator[StoreLocation]:
    """Name a container of a server that takes identities."""
    (tmp_path / "azurite").mkdir()
    with clouds.running_azure(tmp_path / "azurite", authority.issue("azure")) as url:
        yield clouds.azure_location(url)


def azure_token(**claims: Any) -> str:
    """Make a token as Azure does; the server checks all of it but its signature."""
    now = int(time.time())
    own = {
        "aud": "https://storage.azure.com",
        "iss": f"https://sts.windows.net/{TENANT}/",
        "iat": now,
        "nbf": now - 60,
        "exp": now + 3_600,
    }
    return jwt.encode(own | claims, "secret-of-azure" * 4, algorithm="HS256")


def test_an_azure_workload_exchanges_its_token(
    azure: StoreLocation, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on AKS; a service principal would ask Azure's own host about the authority first."""
    claims: dict[str, Any] = {}

    def reply(_: str, __: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
        return 200, {**GIVEN, "access_token": azure_token(**claims)}

    (tmp_path / "federated").write_text("token-of-the-cluster")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "federated"))
    monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
    monkeypatch.setenv("AZURE_CLIENT_ID", "client-of-segplane")
    with running_token_server(reply, authority.issue("tokens")) as server:
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", server.url)
        check(BucketStore(azure, BRIEF))
        bucket._requests.cache_clear()
        claims["aud"] = "https://something.else"
        with pytest.raises(StoreUnusable, match="refused the credentials to read"):
            BucketStore(azure, BRIEF).get("some/key")

    form = server.forms[0]
    assert form["client_id"] == "client-of-segplane"
    assert form["client_assertion"] == "token-of-the-cluster"


@pytest.mark.parametrize("is_own", [False, True], ids=["of the process", "of the bucket"])
def test_a_shared_access_signature_has_the_rights_that_it_names(
    azure_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    location = clouds.azure_location(azure_endpoint)
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)

    def sign(permission: ContainerSasPermissions) -> BucketStore:
        text = generate_container_sas(
            clouds.ACCOUNT,
            clouds.BUCKET,
            account_key=clouds.ACCOUNT_KEY,
            permission=permission,
            expiry=datetime.now(UTC) + timedelta(hours=1),
        )
        if is_own:
            (tmp_path / "own").write_text(f"{text}\n")
            monkeypatch.setenv(credentials.setting_of(location), str(tmp_path / "own"))
        else:
            monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", text)
        bucket._requests.cache_clear()
        return BucketStore(location, BRIEF)

    check(sign(ContainerSasPermissions(read=True, list=True, create=True, write=True)))

    reader = sign(ContainerSasPermissions(read=True))
    assert reader.get("some/key") == b"content"
    with pytest.raises(StoreUnusable, match="refused the credentials to write"):
        reader.put_if_absent("other/key", b"")


def test_without_credentials_of_azure_one_line_says_which_are_looked_for(
    authority: Authority, azure_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the machine's own token server is not looked for.
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    secure = StoreLocation.from_url("az://box/nowhere?account=logs1")

    for location in (secure, replace(secure, endpoint=azure_endpoint)):
        with pytest.raises(StoreUnusable, match=r"no credentials for .*AZURE_STORAGE_KEY") as error:
            BucketStore(location, BRIEF).probe()
        assert "\n" not in str(error.value)
