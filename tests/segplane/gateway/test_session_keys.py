"""Keys that expire, which a store's token service makes for the readers of one dataset."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog

from meta.config import Settings
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.answers import catalog_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import FaultyProxy, ProxyAnswer, running_proxy
from tests.support.object_store.moto import BUCKET, fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

TOKEN = "the-token-of-this-gateway"
KNOWN = {"Authorization": f"Bearer {TOKEN}", "X-Iceberg-Access-Delegation": "vended-credentials"}
_DENIED = b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
ROLE = "arn:aws:iam::123456789012:role/readers"


@pytest.fixture
def meta_settings(meta_settings: Settings, s3_endpoint: str, aws_credentials: None) -> Settings:
    return replace(meta_settings, location=fresh_location(s3_endpoint))


@pytest.fixture
def gateway(meta_server: MetaServer, proxy: FaultyProxy) -> Iterator[GatewayServer]:
    """Its token service is reached through the proxy."""
    access = AccessSettings(ACCESS_KEY, SECRET_KEY, ROLE, proxy.url, 900)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=access)
    yield running
    running.close()


def test_pyiceberg_reads_with_keys_that_are_limited_to_the_dataset(
    gateway: GatewayServer,
    segments: SegmentWriter,
    proxy: FaultyProxy,
    meta_settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    segments.write(rows=5)
    gateway.table(**KNOWN)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)

    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, token=TOKEN)
    table = catalog.load_table("default.web")

    assert table.scan().to_arrow().num_rows == 5
    assert table.io.properties["s3.session-token"]
    assert isinstance(catalog, RestCatalog)
    given = catalog.load_credentials("default.web", table.metadata_location)
    assert given["s3.access-key-id"] == table.io.properties["s3.access-key-id"] != ACCESS_KEY
    # Half of their lifetime is not over, so all got the same ones.
    (asked,) = (parse_qs(one.body.decode()) for one in proxy.requests)
    assert (asked["RoleArn"], asked["DurationSeconds"]) == ([ROLE], ["900"])
    (statement,) = json.loads(asked["Policy"][0])["Statement"]
    root = f"arn:aws:s3:::{BUCKET}/{meta_settings.location.path}"
    assert statement == {
        "Effect": "Allow",
        "Action": ["s3:GetObject"],
        "Resource": [
            f"{root}/dataset/{segments.dataset}/*",
            f"{root}/iceberg/{segments.dataset}/*",
        ],
    }


@pytest.mark.readers
def test_trino_reads_with_keys_that_the_gateway_gives(
    gateway: GatewayServer, segments: SegmentWriter, meta_settings: Settings, tmp_path: Path
) -> None:
    Shop(segments.client, segments).open()
    with running_proxy(meta_settings.location.endpoint) as store:
        changes = {
            "iceberg.rest-catalog.vended-credentials-enabled": "true",
            "s3.aws-access-key": "",
            "s3.aws-secret-key": "",
            "s3.endpoint": store.url,
        }
        catalog = replace(catalog_of(gateway, meta_settings), has_token=True)
        trino = TrinoServer(tmp_path / "trino", catalog, changes)
        try:
            rows, _ = trino.query(
                "SELECT count(*) AS n FROM segplane.\"default\".web WHERE signal = 'logs'"
            )
        finally:
            trino.close()

    assert rows == [{"n": sum(one["logs"].num_rows for one in segments.sections)}]
    given = gateway.table(**KNOWN).json["config"]["s3.access-key-id"]
    signers = [one.headers["Authorization"] for one in store.requests]
    assert signers
    assert all(f"Credential={given}/" in one for one in signers)


def test_an_answer_with_keys_is_not_kept(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=5)

    answer = gateway.table(**KNOWN)

    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    assert SECRET_KEY not in answer.json["config"].values()
    assert (
        "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
        in (gateway.ask("v1/config", **KNOWN).json["endpoints"])
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (ProxyAnswer(503), "the token service answered 503"),
        (
            ProxyAnswer(403, body=_DENIED),
            f"gives no keys for role {ROLE} (AccessDenied)",
        ),
    ],
    ids=["away", "refuses"],
)
def test_a_token_service_that_gives_none_is_named(
    gateway: GatewayServer,
    segments: SegmentWriter,
    proxy: FaultyProxy,
    answer: ProxyAnswer,
    sentence: str,
) -> None:
    segments.write(rows=5)
    proxy.fault = lambda *_: answer

    refused = gateway.table(**KNOWN)

    assert (refused.status, sentence in refused.message) == (503, True)
