"""Logs and traces of a web shop over an hour, as a person would look at them."""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.traces import MS, Row, log_row, span_row, write_rows

REQUESTS = 300
# 2026-01-01T12:00:00Z; a request comes every 12 s.
START = 1_767_268_800_000_000_000
HOUR = "dataset=web&from=2026-01-01T12:00:00Z&to=2026-01-01T13:00:00Z"
FAILED = "payment failed: the card issuer did not answer 決済エラー 🎉"
_POINT: Row = {"signal": "metrics", "service_name": "web", "attributes": "{}", "flags": 0}
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7 * 7 }}"


def write_shop(segments: SegmentWriter) -> None:
    """Write a trace and up to three log records for each request; each tenth one fails."""
    drawn = random.Random(7)
    spans: list[Row] = []
    logs: list[Row] = []
    for number in range(REQUESTS):
        start = START + number * 12 * 1_000 * MS + drawn.randrange(1_000 * MS)
        trace, has_failed = f"{number + 1:032x}", number % 10 == 0
        spans += _spans(number, trace, start, has_failed)
        logs += _logs(number, trace, start, has_failed)
    write_rows(segments, logs=logs, metrics=list(_metrics()), traces=spans)


def _metrics() -> Iterator[Row]:
    """Yield the memory of a service, and the requests of two routes, by the minute."""
    for minute in range(60):
        columns = {"timestamp": START + minute * 60_000 * MS, "start_timestamp": START - MS}
        memory = 200.0 + 40 * (minute % 12)
        yield {**columns, **_POINT, "metric_name": "memory", "metric_type": "gauge",
               "metric_unit": "MiB", "value_double": memory,
               "metric_description": HOSTILE}  # fmt: skip
        for route, value in (("/cart", 90 * minute), ("/checkout", 60 * minute + 5 * (minute % 9))):
            yield {**columns, **_POINT, "metric_name": "http.requests", "metric_type": "sum",
                   "is_monotonic": True, "aggregation_temporality": 2, "value_long": value,
                   "attributes": json.dumps({"http.route": route})}  # fmt: skip


def _spans(number: int, trace: str, start: int, has_failed: bool) -> list[Row]:
    def span(
        name: str, parent: str, service: str, after_ms: int, length_ms: int, **more: Any
    ) -> Row:
        identity = f"{number:08x}{len(spans):08x}"
        return span_row(
            identity, parent, start_nanos=start + after_ms * MS, length_ms=length_ms,
            trace_id=trace, name=name, service_name=service, **more,
        )  # fmt: skip

    spans: list[Row] = []
    spans.append(
        span("POST /checkout", "", "web", 0, 480, kind=2, attributes={"http.route": "/checkout"})
    )
    root = str(spans[0]["span_id"])
    spans.append(span("GET /cart", root, "cart", 12, 60))
    spans.append(
        span(
            "SELECT cart",
            str(spans[1]["span_id"]),
            "cart",
            18,
            45,
            attributes={"db.system": "postgresql"},
        )
    )
    failure = {"status_code": 2, "status_message": "no answer"} if has_failed else {}
    spans.append(span("charge card", root, "payment", 85, 370, **failure))
    spans.append(
        span("POST issuer", str(spans[3]["span_id"]), "payment", 95, 350, kind=3, **failure)
    )
    return spans


def _logs(number: int, trace: str, start: int, has_failed: bool) -> list[Row]:
    order = {"order": {"id": 1_000 + number, "items": [{"sku": "A-7", "count": 2}]}}
    attributes = json.dumps({"http.route": "/checkout", "user": {"id": number, "name": HOSTILE}})
    logs = [
        log_row(f"GET /cart 200 in {number % 50} ms", nanos=start + 70 * MS + 123, trace_id=trace,
                service_name="cart", attributes=attributes),
        log_row(json.dumps(order), nanos=start + 90 * MS + 4_567, trace_id=trace,
                service_name="web", severity_number=5, attributes=attributes),
    ]  # fmt: skip
    if has_failed:
        logs.append(
            log_row(FAILED, nanos=start + 450 * MS + 89, trace_id=trace, severity_number=17,
                    span_id=f"{number:08x}{3:08x}", service_name="payment", attributes=attributes)
        )  # fmt: skip
    return logs
