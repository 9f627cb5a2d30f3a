"""A trace that a caller of the gateway begins is joined, down to meta's calls for its query."""

from collections.abc import Iterator

import pytest

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.spans import SAMPLED, SPAN, TRACE, Recorder, recorded


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    with recorded(monkeypatch) as recorder:
        yield recorder


def test_a_request_and_the_calls_of_meta_for_it_are_parts_of_its_trace(
    gateway: GatewayServer, segments: SegmentWriter, recorder: Recorder
) -> None:
    segments.write(1)

    listed = gateway.get("v1/datasets", traceparent=SAMPLED)
    read = gateway.get("v1/datasets/web/preview", traceparent=SAMPLED)

    assert (listed.status, read.status) == (200, 200), (listed.body, read.body)
    (first, second) = recorder.spans("http GET")
    assert first.parent is not None
    assert f"{first.parent.span_id:016x}" == SPAN
    assert recorder.traces("http GET") == [TRACE, TRACE]
    # The query's process asks meta through threads of the gateway.
    assert TRACE in recorder.traces("FindSegments")
    assert second.context.trace_id == first.context.trace_id


def test_a_request_without_a_trace_makes_no_span(
    gateway: GatewayServer, recorder: Recorder
) -> None:
    gateway.get("v1/datasets")
    gateway.get("v1/datasets", traceparent="nonsense")

    assert recorder.spans("http GET") == []
