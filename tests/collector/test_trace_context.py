"""A trace that a sender begins is joined by the collector: OTLP over gRPC and HTTP."""

from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest

from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import LOGS_METHOD, StartCollector
from tests.support.spans import SAMPLED, TRACE, SpanSink
from tests.support.waiting import wait_until


@pytest.fixture
def sink() -> Iterator[SpanSink]:
    running = SpanSink()
    yield running
    running.close()


def test_exports_and_records_join_the_trace_of_their_sender(
    ground: Ground, start_collector: StartCollector, sink: SpanSink
) -> None:
    token = ground.new_token()
    collector = start_collector(
        OTEL_EXPORTER_OTLP_ENDPOINT=sink.endpoint, OTEL_BSP_SCHEDULE_DELAY="100"
    )
    bearer = f"Bearer {token.token_secret}"
    traced = {"Authorization": bearer, "traceparent": SAMPLED}

    with collector.stub() as stub:
        headers = [("authorization", bearer), ("traceparent", SAMPLED)]
        stub.call(LOGS_METHOD, log_export("a"), headers).result()
        stub.export(token.token_secret, log_export("b"))
    url = f"http://127.0.0.1:{collector.http_port}/v1/logs"
    protobuf = {"Content-Type": "application/x-protobuf", **traced}
    urlopen(Request(url, log_export("c"), protobuf)).close()

    wait_until(lambda: TRACE in sink.names, "no span came")
    assert sink.names == {TRACE: {"export.logs"}}
    assert ground.committed_ids() == ["a", "b", "c"]
