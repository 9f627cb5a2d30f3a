"""Senders: records with unique ids, exported until acknowledged; what was acknowledged is known."""

import gzip
import http.client
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

Signal = Literal["logs", "metrics", "traces"]
ID = "record.id"
PER_EXPORT = 200
GRPC_METHODS = {
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
}
SERVICES = ("checkout", "cart", "billing", "search", "mail")


@dataclass(frozen=True, slots=True)
class Record:
    """One sent record: what must be found again, field by field."""

    id: str
    signal: Signal
    service: str
    time_nanos: int
    # A log's body, a span's name, a data point's metric name.
    text: str
    # Severity number, span duration in ns, the point's value.
    number: int


@dataclass
class SendLog:
    """Every record that was sent, by dataset, and whether its export was acknowledged."""

    acknowledged: dict[str, list[Record]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, dataset: str, records: list[Record]) -> None:
        """Note an acknowledged export."""
        with self.lock:
            self.acknowledged.setdefault(dataset, []).extend(records)


def make_records(signal: Signal, count: int, seed: str, start_nanos: int) -> list[Record]:
    """Records spread over ten minutes, with ids that start with `seed`."""
    source = random.Random(seed)
    return [
        Record(
            id=f"{seed}-{signal}-{i}",
            signal=signal,
            service=source.choice(SERVICES),
            time_nanos=start_nanos + source.randrange(600 * 10**9),
            text=f"{signal} {source.choice(('started', 'failed', 'ended'))} {source.random():.6f}",
            number=source.randrange(1, 24),
        )
        for i in range(count)
    ]


def exports(records: list[Record]) -> Iterator[tuple[list[Record], bytes]]:
    """Split records into exports of one resource each; yields them with their OTLP bytes."""
    by_service: dict[str, list[Record]] = {}
    for record in records:
        by_service.setdefault(record.service, []).append(record)
    for service, mine in by_service.items():
        for start in range(0, len(mine), PER_EXPORT):
            part = mine[start : start + PER_EXPORT]
            yield part, _encode(part[0].signal, service, part)


def _encode(signal: Signal, service: str, records: list[Record]) -> bytes:
    resource = Resource(attributes=[_attribute("service.name", service)])
    scope = InstrumentationScope(name="e2e", version="1")
    if signal == "logs":
        lines = [_log(r) for r in records]
        scope_logs = logs_pb2.ScopeLogs(scope=scope, log_records=lines)
        logs = logs_pb2.ResourceLogs(resource=resource, scope_logs=[scope_logs])
        return logs_pb2.LogsData(resource_logs=[logs]).SerializeToString()
    if signal == "traces":
        spans = trace_pb2.ScopeSpans(scope=scope, spans=[_span(r) for r in records])
        traces = trace_pb2.ResourceSpans(resource=resource, scope_spans=[spans])
        return trace_pb2.TracesData(resource_spans=[traces]).SerializeToString()
    points = metrics_pb2.ScopeMetrics(scope=scope, metrics=[_metric(r) for r in records])
    metrics = metrics_pb2.ResourceMetrics(resource=resource, scope_metrics=[points])
    return metrics_pb2.MetricsData(resource_metrics=[metrics]).SerializeToString()


def _attribute(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _log(record: Record) -> logs_pb2.LogRecord:
    return logs_pb2.LogRecord(
        time_unix_nano=record.time_nanos,
        severity_number=record.number,  # type: ignore[arg-type]
        body=AnyValue(string_value=record.text),
        attributes=[_attribute(ID, record.id)],
    )


def _span(record: Record) -> trace_pb2.Span:
    return trace_pb2.Span(
        start_time_unix_nano=record.time_nanos,
        end_time_unix_nano=record.time_nanos + record.number,
        name=record.text,
        trace_id=random.randbytes(16),
        span_id=random.randbytes(8),
        attributes=[_attribute(ID, record.id)],
    )


def _metric(record: Record) -> metrics_pb2.Metric:
    point = metrics_pb2.NumberDataPoint(
        time_unix_nano=record.time_nanos,
        as_int=record.number,
        attributes=[_attribute(ID, record.id)],
    )
    return metrics_pb2.Metric(name=record.text, gauge=metrics_pb2.Gauge(data_points=[point]))


class GrpcSender:
    """Sends exports over OTLP gRPC until each is acknowledged or the deadline passes."""

    def __init__(self, address: str, token: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._calls: dict[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]] = {
            signal: self._channel.unary_unary(method) for signal, method in GRPC_METHODS.items()
        }

    def send(self, signal: Signal, payload: bytes) -> bool:
        """True once acknowledged, false if the outcome is a refusal that a retry may change."""
        try:
            self._calls[signal](payload, metadata=self._metadata, timeout=20)
        except grpc.RpcError as error:
            retryable = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
            if error.code() not in retryable:
                raise
            return False
        return True


class HttpSender:
    """The same over OTLP HTTP with gzip."""

    def __init__(self, host_port: str, token: str) -> None:
        self._host_port = host_port
        self._headers = {
            "content-type": "application/x-protobuf",
            "content-encoding": "gzip",
            "x-ingest-token": token,
        }

    def send(self, signal: Signal, payload: bytes) -> bool:
        """As GrpcSender.send."""
        connection = http.client.HTTPConnection(self._host_port, timeout=20)
        try:
            connection.request("POST", f"/v1/{signal}", gzip.compress(payload), self._headers)
            reply = connection.getresponse()
            body = reply.read()
        except OSError:
            return False
        finally:
            connection.close()
        if reply.status in {429, 502, 503, 504}:
            return False
        assert reply.status == 200, (reply.status, body)
        return True
