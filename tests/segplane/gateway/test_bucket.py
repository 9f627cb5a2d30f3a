"""Tables in a bucket: readers with credentials of their own, and what they ask of the store."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from tests.support.gateway.answers import (
    answer,
    catalog_of,
    comparable,
    condition,
    expected,
    record,
)
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.questions import QUESTIONS
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.gateway.trino import TrinoServer
from tests.support.object_store.faulty_proxy import (
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
    running_proxy,
)
from tests.support.object_store.fixtures import aws_credentials, versitygw_endpoint
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

__all__ = ["aws_credentials", "versitygw_endpoint"]
KEYS = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}


@dataclass
class Reads:
    """Reads of segments that passed a proxy."""

    requests: int = 0
    bytes: int = 0
    objects: set[str] = field(default_factory=set)

    def pass_on(self, request: Request, forward: Forward) -> ProxyAnswer:
        """Count a request on its way."""
        reply = forward(request)
        path = request.target.partition("?")[0]
        if request.method == "GET" and path.endswith(".parquet"):
            self.requests += 1
            self.bytes += len(reply.body)
            self.objects.add(path)
        return reply

    def shown(self) -> dict[str, int]:
        return {"requests": self.requests, "bytes": self.bytes, "objects": len(self.objects)}


@pytest.fixture
def store(versitygw_endpoint: str, aws_credentials: None) -> Iterator[FaultyProxy]:
    with running_proxy(versitygw_endpoint) as proxy:
        yield proxy


@pytest.fixture
def meta_settings(meta_settings: Settings, store: FaultyProxy) -> Settings:
    """A bucket that is reached through the proxy."""
    return replace(meta_settings, location=fresh_location(store.url))


@pytest.fixture
def shop(segments: SegmentWriter) -> Shop:
    opened = Shop(segments.client, segments)
    opened.open()
    return opened


@pytest.fixture
def reads(shop: Shop, store: FaultyProxy) -> Reads:
    """Counts of reads from now on."""
    counted = Reads()
    store.fault = counted.pass_on
    return counted


def test_pyiceberg_reads_a_bucket_with_keys_of_its_own(
    shop: Shop, gateway: GatewayServer, store: FaultyProxy
) -> None:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **KEYS)
    table = catalog.load_table("default.web")
    read = {}
    answers = {}

    for question in QUESTIONS:
        counted = Reads()
        store.fault = counted.pass_on
        answers[question.name] = answer(
            question, table.scan(row_filter=condition(question)).to_arrow()
        )
        read[question.name] = counted.shown()

    record("PyIceberg, bucket", read)
    assert answers == expected(shop)
    # Seven files are of other days.
    assert read["one trace in one hour"]["objects"] == 3
    assert read["records by service and hour"]["objects"] == shop.segments.files


def test_no_credentials_are_given_out(gateway: GatewayServer, shop: Shop) -> None:
    loaded = gateway.table()

    assert set(loaded.json["config"]) == {
        "s3.endpoint",
        "s3.path-style-access",
        "s3.region",
        "client.region",
    }
    assert "secret" not in loaded.body.decode()
    assert shop.segments.files


@pytest.mark.readers
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engines_read_a_bucket_with_the_settings_that_are_printed(
    shop: Shop, gateway: GatewayServer, meta_settings: Settings, reads: Reads, engine: Engine
) -> None:
    engine.skip_if_missing()
    version = gateway.table().json["metadata"]["current-snapshot-id"]

    answers = engine.ask(catalog_of(gateway, meta_settings), "web", version)

    record(f"{engine.name}, bucket", {"all": reads.shown()})
    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)


@pytest.mark.readers
def test_trino_reads_a_bucket_with_the_settings_that_are_printed(
    shop: Shop, gateway: GatewayServer, meta_settings: Settings, reads: Reads, tmp_path: Path
) -> None:
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    trino = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_settings))
    try:
        answers = trino.ask("web", version)
    finally:
        trino.close()

    record("Trino, bucket", {"all": reads.shown()})
    assert {name: comparable(one["rows"]) for name, one in answers.items()} == expected(shop)
