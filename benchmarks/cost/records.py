"""Seeded logs and traces of 20 services, as OTLP exports.

An export has records of one service, two thirds of them logs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

SERVICES = tuple(
    f"{part}-{kind}"
    for part in ("cart", "billing", "search", "mail", "stock")
    for kind in ("api", "worker", "cache", "gateway")
)
ROUTES = tuple(
    f"/{noun}/{verb}"
    for noun in ("items", "orders", "users", "carts")
    for verb in ("list", "get", "put", "find")
)
USERS = 20_000
LOGS_OF_EXPORT, SPANS_OF_EXPORT = 800, 800
# One record in all has this text, and one in about 25 log records has "upstream".
RARE_TEXT = "kernelpanic"
_RARE_EXPORT = 10
_INFO, _WARN, _ERROR = 9, 13, 17
_SEVERITY_TEXTS = {_INFO: "INFO", _WARN: "WARN", _ERROR: "ERROR"}
_STATUSES = (200, 200, 200, 200, 200, 201, 204, 304, 404, 500)
_MICROSECOND = 1_000


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log record; times in nanoseconds."""

    time_nanos: int
    trace_id: bytes
    span_id: bytes
    severity: int
    body: str
    attributes: dict[str, str | int]

    @property
    def severity_text(self) -> str:
        """Text of the severity."""
        return _SEVERITY_TEXTS[self.severity]


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span; times in nanoseconds."""

    time_nanos: int
    duration_nanos: int
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    is_error: bool
    attributes: dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Export:
    """Records of one service and one signal; the other list is empty."""

    service: str
    logs: list[LogRow] = field(default_factory=list)
    spans: list[SpanRow] = field(default_factory=list)

    @property
    def resource(self) -> dict[str, str]:
        """Attributes of the resource."""
        return {
            "service.name": self.service,
            "service.version": "1.42.0",
            "host.name": f"node-{len(self.service) % 7}",
            "k8s.namespace.name": self.service.partition("-")[0],
        }

    def payload(self) -> bytes:
        """Serialize as an OTLP export request."""
        return self._logs() if self.logs else self._spans()

    def _logs(self) -> bytes:
        data = LogsData()
        container = data.resource_logs.add(resource=_resource(self.resource))
        scope = container.scope_logs.add(scope=InstrumentationScope(name="app.logger"))
        scope.log_records.extend(
            LogRecord(
                time_unix_nano=row.time_nanos,
                observed_time_unix_nano=row.time_nanos + 100 * _MICROSECOND,
                severity_number=row.severity,  # type: ignore[arg-type]
                severity_text=row.severity_text,
                trace_id=row.trace_id,
                span_id=row.span_id,
                body={"string_value": row.body},  # type: ignore[arg-type]
                attributes=_attributes(row.attributes),
            )
            for row in self.logs
        )
        return data.SerializeToString()

    def _spans(self) -> bytes:
        data = TracesData()
        container = data.resource_spans.add(resource=_resource(self.resource))
        scope = container.scope_spans.add(scope=InstrumentationScope(name="app.tracer"))
        scope.spans.extend(
            Span(
                trace_id=row.trace_id,
                span_id=row.span_id,
                parent_span_id=row.parent_id,
                name=row.name,
                kind=Span.SPAN_KIND_SERVER,
                start_time_unix_nano=row.time_nanos,
                end_time_unix_nano=row.time_nanos + row.duration_nanos,
                attributes=_attributes(row.attributes),
                status=Status(code=Status.STATUS_CODE_ERROR) if row.is_error else None,
            )
            for row in self.spans
        )
        return data.SerializeToString()


def exports(count: int, start_nanos: int, span_nanos: int, seed: int = 1) -> Iterator[Export]:
    """Make exports whose times run evenly through [start, start + span)."""
    rnd = random.Random(seed)
    for number in range(count):
        service = SERVICES[rnd.randrange(len(SERVICES))]
        begins = start_nanos + span_nanos * number // count
        step = span_nanos // count // max(LOGS_OF_EXPORT, SPANS_OF_EXPORT)
        if number % 3 == 2:
            yield Export(service, spans=list(_spans(rnd, begins, step)))
        else:
            logs = list(_logs(rnd, begins, step))
            if number == _RARE_EXPORT:
                logs[0].attributes["thread.name"] = "main"
                logs[0] = LogRow(
                    logs[0].time_nanos,
                    logs[0].trace_id,
                    logs[0].span_id,
                    _ERROR,
                    f"the node reported a {RARE_TEXT} and was drained",
                    logs[0].attributes,
                )
            yield Export(service, logs=logs)


def _logs(rnd: random.Random, begins: int, step: int) -> Iterator[LogRow]:
    for number in range(LOGS_OF_EXPORT):
        # Ten records in a row belong to one request.
        if number % 10 == 0:
            trace_id, user, route = rnd.randbytes(16), _user(rnd), rnd.choice(ROUTES)
        status = rnd.choice(_STATUSES)
        severity = _ERROR if status == 500 else _WARN if status == 404 else _INFO
        yield LogRow(
            time_nanos=begins + number * step,
            trace_id=trace_id,
            span_id=rnd.randbytes(8),
            severity=severity,
            body=_body(rnd, status, route),
            attributes={
                "http.request.method": "GET" if status != 201 else "POST",
                "http.route": route,
                "http.response.status_code": status,
                "user.id": user,
                "request.id": rnd.randbytes(8).hex(),
                "thread.name": f"worker-{rnd.randrange(16)}",
                "code.function.name": f"com.example.{route[1:].replace('/', '.')}",
            },
        )


def _spans(rnd: random.Random, begins: int, step: int) -> Iterator[SpanRow]:
    for number in range(SPANS_OF_EXPORT):
        if number % 8 == 0:
            trace_id, parent, user = rnd.randbytes(16), b"", _user(rnd)
        status, route = rnd.choice(_STATUSES), rnd.choice(ROUTES)
        span_id = rnd.randbytes(8)
        yield SpanRow(
            time_nanos=begins + number * step,
            duration_nanos=int(rnd.lognormvariate(15.5, 1.2)),
            trace_id=trace_id,
            span_id=span_id,
            parent_id=parent,
            name=f"GET {route}",
            is_error=status == 500,
            attributes={
                "http.route": route,
                "http.response.status_code": status,
                "user.id": user,
                "request.id": rnd.randbytes(8).hex(),
                "net.peer.name": f"10.0.{rnd.randrange(4)}.{rnd.randrange(250)}",
            },
        )
        parent = span_id


def _body(rnd: random.Random, status: int, route: str) -> str:
    match rnd.randrange(8):
        case 0:
            return f"cache miss for key {rnd.randrange(10**7):07d}, loading from the store"
        case 1:
            return f"query took {rnd.randrange(1, 900)} ms and returned {rnd.randrange(200)} rows"
        case 2 if rnd.randrange(3) == 0:
            peer, took_ms = rnd.choice(SERVICES), rnd.randrange(5_000)
            return f"upstream {peer} timed out after {took_ms} ms, retrying"
        case 3:
            return f"user session {rnd.randbytes(6).hex()} renewed for {rnd.randrange(60)} minutes"
        case _:
            took_ms, size_bytes = rnd.randrange(1, 4_000), rnd.randrange(10**5)
            return f"GET {route} answered {status} in {took_ms} ms, {size_bytes} bytes"


def _user(rnd: random.Random) -> str:
    # A few users send most of the requests.
    return f"u{int(USERS * rnd.random() ** 3):05d}"


def _resource(attributes: dict[str, str]) -> Resource:
    return Resource(attributes=_attributes(attributes))


def _attributes(attributes: dict[str, str] | dict[str, str | int]) -> list[KeyValue]:
    return [
        KeyValue(key=key, value={"string_value" if isinstance(value, str) else "int_value": value})  # type: ignore[arg-type]
        for key, value in attributes.items()
    ]
