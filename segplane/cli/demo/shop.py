"""An example for the console: traces of a shop, one of which failed, and the logs beside them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import (
    SEVERITY_NUMBER_ERROR,
    SEVERITY_NUMBER_INFO,
    LogsData,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from meta.secrets import random_bytes

ORDERS = 20
_MS = 10**6
# An order every half a minute, the last one now.
_EVERY_NANOS = 30 * 10**9


@dataclass(frozen=True, slots=True)
class _Step:
    """A span of an order; times in milliseconds, the first from the beginning of the order."""

    service: str
    name: str
    starts: int
    lasts: int
    parent: int | None


_STEPS = (
    _Step("web", "POST /checkout", 0, 480, None),
    _Step("cart", "GET /cart", 12, 60, 0),
    _Step("cart", "SELECT cart", 18, 45, 1),
    _Step("payment", "charge card", 85, 370, 0),
    _Step("payment", "POST issuer", 95, 350, 3),
)
_FAILED_FROM = 3


def exports(now_nanos: int | None = None) -> tuple[TracesData, LogsData]:
    """Return the spans and logs of some orders; the last but one failed."""
    now = time.time_ns() if now_nanos is None else now_nanos
    traces, logs = TracesData(), LogsData()
    for number in range(ORDERS):
        began = now - (ORDERS - number) * _EVERY_NANOS
        _add_order(traces, logs, began, number, has_failed=number == ORDERS - 2)
    return traces, logs


def _add_order(
    traces: TracesData, logs: LogsData, began: int, number: int, *, has_failed: bool
) -> None:
    trace_id = random_bytes(16)
    span_ids = [random_bytes(8) for _ in _STEPS]
    for step, (index, span_id) in zip(_STEPS, enumerate(span_ids), strict=True):
        resource = traces.resource_spans.add()
        resource.resource.attributes.append(_text("service.name", step.service))
        span = resource.scope_spans.add().spans.add(
            trace_id=trace_id,
            span_id=span_id,
            parent_span_id=b"" if step.parent is None else span_ids[step.parent],
            name=step.name,
            kind=Span.SPAN_KIND_SERVER if step.parent is None else Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=began + step.starts * _MS,
            end_time_unix_nano=began + (step.starts + step.lasts) * _MS,
            attributes=[_text("order.id", str(1_000 + number))],
        )
        if has_failed and index >= _FAILED_FROM:
            span.status.code = Status.STATUS_CODE_ERROR
            span.status.message = "the card issuer did not answer"
    _add_log(
        logs, "cart", began + 70 * _MS, f"GET /cart 200 in {60 + number} ms", trace_id, span_ids
    )
    if has_failed:
        text = "payment failed: the card issuer did not answer"
        _add_log(logs, "payment", began + 450 * _MS, text, trace_id, span_ids, is_error=True)


def _add_log(
    logs: LogsData,
    service: str,
    at: int,
    body: str,
    trace_id: bytes,
    span_ids: Sequence[bytes],
    *,
    is_error: bool = False,
) -> None:
    resource = logs.resource_logs.add()
    resource.resource.attributes.append(_text("service.name", service))
    resource.scope_logs.add().log_records.add(
        time_unix_nano=at,
        observed_time_unix_nano=at,
        severity_number=SEVERITY_NUMBER_ERROR if is_error else SEVERITY_NUMBER_INFO,
        severity_text="ERROR" if is_error else "INFO",
        body=AnyValue(string_value=body),
        trace_id=trace_id,
        span_id=span_ids[-1 if is_error else 1],
    )


def _text(key: str, text: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=text))
