"""Tables in a bucket: readers with their own credentials, and what they ask of the store."""

from dataclasses import replace

import pytest
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from segments.keys import DATASETS_ROOT
from segments.store.open import open_store
from tests.support.gateway.answers import (
    answer,
    condition,
    expected,
    record,
)
from tests.support.gateway.questions import QUESTIONS
from tests.support.gateway.reads import Reads
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.object_store.faulty_proxy import FaultyProxy
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY

KEYS = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}


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
def files(shop: Shop, meta_settings: Settings) -> dict[str, bytes]:
    """The segments, by key."""
    bucket = open_store(meta_settings.location)
    return {one.key: bucket.get(one.key) for one in bucket.list(DATASETS_ROOT)}


@pytest.mark.long
def test_pyiceberg_reads_a_bucket_with_its_own_keys(
    shop: Shop, gateway: GatewayServer, store: FaultyProxy, files: dict[str, bytes]
) -> None:
    catalog = load_catalog("segplane", type="rest", uri=gateway.uri, **KEYS)
    table = catalog.load_table("default.web")
    read = {}
    answers = {}

    for question in QUESTIONS:
        counted = Reads(files)
        store.fault = counted.pass_on
        answers[question.name] = answer(
            question, table.scan(row_filter=condition(question)).to_arrow()
        )
        read[question.name] = counted.shown()

    record("PyIceberg, bucket", read)
    assert answers == expected(shop)
    assert all(one["footers"] >= one["objects"] for one in read.values())
    # Seven files are of other days.
    assert read["one trace in one hour"]["objects"] == 3
    # Of each file one of its three row groups, which are of a signal each.
    assert read["one trace in one hour"]["row groups"] == 3
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
