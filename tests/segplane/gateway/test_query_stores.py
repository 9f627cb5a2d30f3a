"""Queries over a bucket: the gateway reads for them, and says so when it cannot."""

from dataclasses import replace

import pytest

from meta.config import Settings
from segplane.gateway.queries.settings import QuerySettings
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import (
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
)
from tests.support.object_store.moto import fresh_location


@pytest.fixture
def meta_settings(meta_settings: Settings, store: FaultyProxy) -> Settings:
    """A bucket that is reached through the proxy."""
    return replace(meta_settings, location=fresh_location(store.url))


def test_a_bucket_is_read_through_the_gateway(
    segments: SegmentWriter,
    gateway: GatewayServer,
    meta_server: MetaServer,
    store: FaultyProxy,
    query_pool: SharedPool,
) -> None:
    segments.write(rows=300, signals=("logs", "traces"))
    segments.write(day=1, rows=20, format_version=1)
    text = "web | summarize n = count(), last = max(timestamp) by signal | sort by signal asc"
    read: list[int] = []

    def count(request: Request, forward: Forward) -> ProxyAnswer:
        reply = forward(request)
        read.append(len(reply.body))
        return reply

    store.fault = count
    answer = gateway.query(text)
    strict = GatewayServer(
        meta_server.address,
        pool=query_pool,
        queries=QuerySettings(scanned_bytes=max(1, sum(read) // 2)),
    )
    refused = strict.query("web | summarize max(strlen(strcat(body, attributes)))")
    strict.close()

    assert [(row["signal"], row["n"]) for row in answer.json] == [("logs", 320), ("traces", 300)]
    assert sum(read) > 0
    assert (refused.status, "read more than" in refused.message) == (422, True)


def test_a_store_that_does_not_answer_is_named(
    segments: SegmentWriter, gateway: GatewayServer, meta_server: MetaServer, store: FaultyProxy
) -> None:
    segments.write(rows=10)

    def refuse(request: Request, forward: Forward) -> ProxyAnswer:
        return ProxyAnswer(403)

    healthy, store.fault = store.fault, refuse
    answer = gateway.query("web | summarize max(body)")
    store.fault = healthy

    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert answer.message.startswith("the object store cannot be used now: ")
    assert "\n" not in answer.message
    assert gateway.query("web | count").json == [{"Count": 10}]
