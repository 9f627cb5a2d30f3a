"""Iceberg's Java client, with reads signed by the gateway and scans planned by it."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.config import Settings
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.answers import catalog_of, comparable, expected
from tests.support.gateway.engines import ENGINES, TOKEN, Engine
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import FaultyProxy, running_proxy
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

pytestmark = pytest.mark.readers
SPARKS = [engine for engine in ENGINES if engine.kind == "spark"]
READ_KEYS = AccessSettings(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)
CATALOG = "spark.sql.catalog.segplane"
SIGNED = {
    f"{CATALOG}.s3.access-key-id": "",
    f"{CATALOG}.s3.secret-access-key": "",
    f"{CATALOG}.header.X-Iceberg-Access-Delegation": "remote-signing",
}
PLANNED = {f"{CATALOG}.scan-planning-mode": "server"}


@pytest.fixture
def meta_settings(
    meta_settings: Settings, versitygw_endpoint: str, aws_credentials: None
) -> Settings:
    return replace(meta_settings, location=fresh_location(versitygw_endpoint))


@pytest.fixture
def gateway(meta_server: MetaServer) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=READ_KEYS)
    yield running
    running.close()


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    opened = Shop(segments.client, segments)
    opened.open()
    return opened


@pytest.fixture
def calls(gateway: GatewayServer) -> Iterator[FaultyProxy]:
    """The gateway's callers come through a proxy, which keeps what they ask for."""
    with running_proxy(gateway.server) as proxy:
        yield proxy


@pytest.mark.parametrize("engine", SPARKS, ids=lambda engine: engine.name)
def test_spark_reads_what_the_gateway_plans_and_signs(
    shop: Shop, gateway: GatewayServer, calls: FaultyProxy, meta_settings: Settings, engine: Engine
) -> None:
    """All by one engine in one session: to begin one takes longer than to ask."""
    engine.skip_if_missing()
    loaded = gateway.table(Authorization=f"Bearer {TOKEN}")
    version = int(loaded.json["metadata"]["current-snapshot-id"])
    catalog = replace(
        catalog_of(gateway, meta_settings), uri=f"{calls.url}/iceberg", has_token=True
    )

    answers = engine.ask(catalog, "web", version, changes=SIGNED | PLANNED)

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
    asked = [request.target.rpartition("/")[2] for request in calls.requests]
    assert asked.count("plan") >= len(answers)
    signed = [
        json.loads(request.body)["uri"]
        for request in calls.requests
        if request.target.endswith("/sign")
    ]
    assert {uri.rpartition(".")[2] for uri in signed} == {"parquet"}
