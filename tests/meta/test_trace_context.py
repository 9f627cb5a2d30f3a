"""A trace that a caller begins is joined by meta, and goes along with every call of a client."""

from collections.abc import Iterator, Sequence

import pytest

from meta.client import traces
from meta.v1 import operations_pb2 as pb
from tests.support.meta.server import MetaServer
from tests.support.spans import SAMPLED, SPAN, TRACE, UNSAMPLED, Recorder, recorded

ASKED = "GetServerState"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    with recorded(monkeypatch) as recorder:
        yield recorder


def ask(meta_server: MetaServer, *headers: tuple[str, str]) -> None:
    request = pb.GetServerStateRequest()
    meta_server.client.operations.GetServerState(request, metadata=headers)


def test_a_trace_in_the_metadata_of_a_call_is_joined(
    meta_server: MetaServer, recorder: Recorder
) -> None:
    ask(meta_server, ("traceparent", SAMPLED), ("tracestate", "vendor=1"))

    (span,) = recorder.spans(ASKED)
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == SPAN


def test_clients_send_the_span_that_is_open_with_calls_and_streams(
    meta_server: MetaServer, recorder: Recorder
) -> None:
    operations = meta_server.client.operations
    with recorder.tracer.start_as_current_span("work") as work:
        operations.GetServerState(pb.GetServerStateRequest())
        operations.GetServerState.future(pb.GetServerStateRequest()).result()
        list(operations.CheckConsistency(iter([pb.CheckConsistencyRequest()])))
    operations.GetServerState(pb.GetServerStateRequest())

    trace = f"{work.get_span_context().trace_id:032x}"
    joined = recorder.traces(ASKED)
    assert joined[:2] == [trace, trace]
    assert joined[2] != trace
    assert recorder.traces("CheckConsistency") == [trace]


@pytest.mark.parametrize(
    "headers",
    [
        ["nonsense"],
        [f"ff-{TRACE}-{SPAN}-01"],
        [f"00-{'0' * 32}-{SPAN}-01"],
        [f"{SAMPLED},{SAMPLED}"],
        ["x" * (traces.STATE_CHARS_MAX + 1)],
    ],
)
def test_a_malformed_trace_is_none(
    meta_server: MetaServer, recorder: Recorder, headers: Sequence[str]
) -> None:
    ask(meta_server, *(("traceparent", header) for header in headers))

    (span,) = recorder.spans(ASKED)
    assert span.parent is None


def test_a_trace_that_its_caller_does_not_record_stays_unrecorded(
    meta_server: MetaServer, recorder: Recorder
) -> None:
    ask(meta_server, ("traceparent", UNSAMPLED))

    assert recorder.spans(ASKED) == []


def test_a_state_of_a_trace_that_is_too_long_is_not_sent_on(recorder: Recorder) -> None:
    def sent(chars: int) -> dict[str, str]:
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span
        from opentelemetry.trace.span import TraceState

        members = [("a", "v" * 200), ("b", "v" * 200), ("c", "v" * (chars - 408))]
        context = SpanContext(1, 2, True, TraceFlags(1), TraceState(members))
        with use_span(NonRecordingSpan(context)):
            return dict(traces.with_trace(()))

    assert len(sent(traces.STATE_CHARS_MAX)["tracestate"]) == traces.STATE_CHARS_MAX
    assert set(sent(traces.STATE_CHARS_MAX + 1)) == {"traceparent"}


def test_metadata_without_an_open_span_stays_as_it_is(recorder: Recorder) -> None:
    metadata = (("authorization", "Bearer x"),)

    assert traces.with_trace(metadata) is metadata
