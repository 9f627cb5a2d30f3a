"""Spans that the parts under test record, by the official SDK."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from meta import telemetry
from meta.call_spans import CallSpans

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{SPAN}-01"
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"


class Recorder:
    """Spans of this process."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = provider.get_tracer("tests")

    def spans(self, name: str) -> list[ReadableSpan]:
        """The spans of a name that have ended."""
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def traces(self, name: str) -> list[str]:
        """The traces of the spans of a name."""
        return [f"{span.context.trace_id:032x}" for span in self.spans(name)]


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Record the spans of this process, as if an endpoint was set."""
    recorder = Recorder()
    monkeypatch.setattr(telemetry, "_tracer", recorder.tracer)
    monkeypatch.setattr(telemetry, "_calls", CallSpans(recorder.tracer))
    yield recorder


class SpanSink(trace_service_pb2_grpc.TraceServiceServicer):
    """An OTLP endpoint for traces; `names` has the names of spans by trace."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self._server = grpc.server(ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def Export(  # noqa: N802
        self, request: trace_service_pb2.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        """Keep the names."""
        with self._lock:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        self.names.setdefault(span.trace_id.hex(), set()).add(span.name)
        return trace_service_pb2.ExportTraceServiceResponse()

    def close(self) -> None:
        """End."""
        self._server.stop(0).wait()
