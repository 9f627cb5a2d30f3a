"""Iceberg tables and queries of a dataset that is in two buckets, and signed reads of both."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pyiceberg.catalog import load_catalog

from meta import config
from meta.v1 import operations_pb2 as pb
from segments.location import NamedStore
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.placement.two_stores import COLD, Placement
from tests.support.visible_segments import key_of

TOKEN = "the-token-of-this-gateway"
SIGNED_READS = {
    "token": TOKEN,
    "header.X-Iceberg-Access-Delegation": "remote-signing",
    "py-io-impl": "tests.support.gateway.signed_reads.SignedReads",
}


@pytest.fixture
def meta_settings(
    meta_settings: config.Settings, versitygw_endpoint: str, aws_credentials: None
) -> config.Settings:
    """Give meta two buckets."""
    cold = NamedStore(COLD, fresh_location(versitygw_endpoint))
    location = fresh_location(versitygw_endpoint)
    return replace(meta_settings, location=location, named_stores=(cold,))


@pytest.fixture
def gateway(meta_server: MetaServer) -> Iterator[GatewayServer]:
    access = AccessSettings(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)
    running = GatewayServer(meta_server.address, auth_token=TOKEN, access=access)
    yield running
    running.close()


def bodies(gateway: GatewayServer, placement: Placement) -> list[str]:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **SIGNED_READS)
    table = catalog.load_table(f"default.{placement.name}")
    return sorted(map(str, table.scan(selected_fields=("body",)).to_arrow()["body"].to_pylist()))


def test_iceberg_reads_a_table_in_two_buckets_with_signatures(
    placement: Placement, gateway: GatewayServer
) -> None:
    placement.send()
    job = placement.move()
    placement.send()
    assert placement.buckets() == {"objects": 1, COLD: 1}

    assert bodies(gateway, placement) == sorted(placement.sent)

    assert placement.finish(job).state == pb.REWRITE_JOB_STATE_DONE
    placement.delete_tombstoned()
    assert bodies(gateway, placement) == sorted(placement.sent)
    query = f"['{placement.name}'] | count"
    answer = gateway.post("v1/query", {"query": query}, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200, answer.body
    assert f"{len(placement.sent)}" in answer.body.decode()


def test_a_read_is_signed_only_in_the_bucket_that_the_key_names(
    placement: Placement, gateway: GatewayServer
) -> None:
    placement.move()
    placement.send()
    (segment,) = placement.segments()
    settings = placement.server.settings
    here, there = settings.location, settings.named_stores[0].location

    def signed(location: Any, key: str) -> Any:
        url = f"{location.endpoint}/{location.bucket}/{location.path}/{key}"
        body = {"method": "GET", "uri": url, "region": "us-east-1", "headers": {}}
        path = f"iceberg/v1/namespaces/default/tables/{placement.name}/sign"
        return gateway.post(path, body, Authorization=f"Bearer {TOKEN}")

    answer = signed(there, key_of(segment))
    headers = {name: values[0] for name, values in answer.json["headers"].items()}
    with urlopen(Request(answer.json["uri"], headers=headers), timeout=20) as reply:
        assert reply.status == 200
    assert signed(here, key_of(segment)).status == 403
    assert signed(there, key_of(segment).replace("store-cold/", "")).status == 403
