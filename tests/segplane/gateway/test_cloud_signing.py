"""Reads of Google Cloud Storage and Azure Blob Storage that the gateway signs for callers."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from meta.config import Settings
from segments.location import StoreLocation
from segments.store.cloud import signing
from segments.store.cloud.signature import SIGNED_SECS
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.gateway.signed_urls import HOST
from tests.support.meta.server import MetaServer

TOKEN = "the-token-of-this-gateway"
SIGN = "iceberg/v1/namespaces/default/tables/web/sign"
ACCOUNT = "gateway@example-project.iam.gserviceaccount.com"
SIGNED = {
    "token": TOKEN,
    "header.X-Iceberg-Access-Delegation": "remote-signing",
    "py-io-impl": "tests.support.gateway.signed_urls.SignedUrls",
}
GOOGLES_HOST = "storage.googleapis.com"


@pytest.fixture(scope="module")
def account_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65_537, 2_048)


@pytest.fixture
def account_file(
    account_key: rsa.RSAPrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service account with its own key."""
    pem = account_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    described = {
        "type": "service_account",
        "client_email": ACCOUNT,
        "private_key": pem.decode(),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    path = tmp_path / "account.json"
    path.write_text(json.dumps(described))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))


@pytest.fixture(params=["gcs", "azure"])
def cloud(request: pytest.FixtureRequest) -> StoreLocation:
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return location


@pytest.fixture
def meta_settings(meta_settings: Settings, cloud: StoreLocation) -> Settings:
    return replace(meta_settings, location=cloud)


@pytest.fixture
def gateway(meta_server: MetaServer, account_file: None) -> Iterator[GatewayServer]:
    access = AccessSettings(are_callers_known=True)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=access)
    yield running
    running.close()


def signed(gateway: GatewayServer, url: str, method: str = "GET") -> Answer:
    return gateway.post(SIGN, {"method": method, "uri": url}, Authorization=f"Bearer {TOKEN}")


def status_of(url: str, method: str = "GET") -> int:
    headers = {"x-ms-blob-type": "BlockBlob"} if method == "PUT" else {}
    body = b"other bytes" if method == "PUT" else None
    try:
        with urlopen(Request(url, body, headers, method=method), timeout=20) as reply:
            return int(reply.status)
    except HTTPError as error:
        return error.code


def table_of(gateway: GatewayServer, location: StoreLocation) -> Table:
    host = {HOST: GOOGLES_HOST} if location.provider == "gcs" else {}
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **SIGNED, **host)
    return catalog.load_table("default.web")


def object_urls(table: Table) -> list[str]:
    return [task.file.file_path for task in table.scan().plan_files()]


@pytest.mark.long
def test_a_client_without_credentials_reads_a_table_by_signed_urls(
    gateway: GatewayServer, segments: SegmentWriter, cloud: StoreLocation
) -> None:
    for day in range(2):
        segments.write(day=day, rows=5)

    rows = table_of(gateway, cloud).scan().to_arrow()

    assert Counter(rows["signal"].to_pylist()) == Counter(signal for signal, _ in segments.rows)


@pytest.mark.long
def test_queries_read_the_bucket(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=50, signals=("logs", "traces"))
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    kql = "web | summarize n = dcount(timestamp), last = max(body) by signal | sort by signal asc"
    sql = "SELECT signal, count(*) AS n FROM web GROUP BY ALL ORDER BY ALL"

    by_kql = gateway.query(kql, headers=bearer)
    by_sql = gateway.query(sql, headers=bearer)

    assert [row["signal"] for row in by_kql.json] == ["logs", "traces"]
    assert by_sql.json == [{"signal": "logs", "n": 50}, {"signal": "traces", "n": 50}]


@pytest.mark.parametrize("cloud", ["azure"], indirect=True)
def test_a_signature_of_azure_is_for_reading_one_blob(
    gateway: GatewayServer, segments: SegmentWriter, cloud: StoreLocation
) -> None:
    for _ in range(2):
        segments.write(rows=5)
    first, second = object_urls(table_of(gateway, cloud))

    answer = signed(gateway, first)

    url = answer.json["uri"]
    assert (answer.json["headers"], answer.headers["cache-control"]) == ({}, "private")
    assert status_of(url) == status_of(url, "HEAD") == 200
    assert status_of(url, "PUT") == status_of(url, "DELETE") == 403
    other = second.removeprefix(f"{cloud.root}/")
    assert status_of(url.replace(first.removeprefix(f"{cloud.root}/"), other)) == 403
    fields = parse_qs(urlsplit(url).query)
    assert (fields["sp"], fields["sr"]) == (["r"], ["b"])


@pytest.mark.parametrize("cloud", ["gcs"], indirect=True)
def test_a_signature_of_google_is_the_accounts_over_method_and_object(
    gateway: GatewayServer,
    segments: SegmentWriter,
    cloud: StoreLocation,
    account_key: rsa.RSAPrivateKey,
) -> None:
    segments.write(rows=5)
    (object_url,) = object_urls(table_of(gateway, cloud))

    for method in ("GET", "HEAD"):
        url = urlsplit(signed(gateway, object_url, method).json["uri"])
        query, _, signature = url.query.partition("&x-goog-signature=")
        if not signature:
            query, _, signature = url.query.partition("&X-Goog-Signature=")
        fields = parse_qs(url.query)
        assert fields["X-Goog-Credential"][0].startswith(f"{ACCOUNT}/")
        assert fields["X-Goog-Expires"] == [str(SIGNED_SECS)]
        canonical = "\n".join(
            [
                method,
                quote(f"/{cloud.bucket}/{cloud.path}/") + object_url.removeprefix(f"{cloud.root}/"),
                query,
                f"host:{url.netloc}",
                "",
                "host",
                "UNSIGNED-PAYLOAD",
            ]
        )
        digest = hashes.Hash(hashes.SHA256())
        digest.update(canonical.encode())
        text = "\n".join(
            [
                "GOOG4-RSA-SHA256",
                fields["X-Goog-Date"][0],
                fields["X-Goog-Credential"][0].partition("/")[2],
                digest.finalize().hex(),
            ]
        )
        # Raises if the account's key did not sign this.
        account_key.public_key().verify(
            bytes.fromhex(signature), text.encode(), padding.PKCS1v15(), hashes.SHA256()
        )


def test_nothing_but_reads_of_the_tables_objects_is_signed(
    gateway: GatewayServer, segments: SegmentWriter, cloud: StoreLocation
) -> None:
    segments.write(rows=5)
    (url,) = object_urls(table_of(gateway, cloud))
    root = cloud.root
    refused = [
        (url, "PUT"),
        (f"{url}?comp=list", "GET"),
        (f"{root}/ingest-stream/x/0", "GET"),
        (f"{root}x/{url.removeprefix(root)}", "GET"),
        (f"{root}/dataset/../{url.removeprefix(root)}", "GET"),
    ]

    for wrong, method in refused:
        answer = signed(gateway, wrong, method)
        assert (answer.status, "only GET and HEAD" in answer.message) == (403, True), wrong
    assert gateway.post(SIGN, {"method": "GET", "uri": url}).status == 401
    path = f"{cloud.bucket}/{cloud.path}{url.removeprefix(root)}"
    own = f"{cloud.endpoint}/{path}"
    assert signed(gateway, own).status == 200


def test_credentials_that_cannot_sign_are_named(
    gateway: GatewayServer,
    segments: SegmentWriter,
    cloud: StoreLocation,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    segments.write(rows=5)
    (url,) = object_urls(table_of(gateway, cloud))
    signing._signer.cache_clear()
    person = {"type": "authorized_user", "client_id": "i", "client_secret": "s"}
    (tmp_path / "person.json").write_text(json.dumps(person | {"refresh_token": "t"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "person.json"))
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024-01-01&sig=x")

    answer = signed(gateway, url)

    names = {"gcs": "GOOGLE_APPLICATION_CREDENTIALS", "azure": "Storage Blob Delegator"}
    assert (answer.status, names[cloud.provider] in answer.message) == (403, True)
    signing._signer.cache_clear()


def test_a_gateway_that_knows_no_callers_signs_nothing(
    meta_server: MetaServer, segments: SegmentWriter, cloud: StoreLocation
) -> None:
    segments.write(rows=5)
    open_gateway = GatewayServer(meta_server.address)

    answer = open_gateway.post(SIGN, {"method": "GET", "uri": f"{cloud.root}/x", "region": ""})

    open_gateway.close()
    assert (answer.status, "GATEWAY_AUTH_TOKEN" in answer.message) == (403, True)
