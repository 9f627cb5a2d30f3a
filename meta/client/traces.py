"""Trace context of calls: a span that is open in the calling program goes along as `traceparent`.

https://www.w3.org/TR/trace-context/. This client does not depend on OpenTelemetry: a program
that has spans has loaded it.
"""

from meta.client.bearer_token import Metadata

# A longer one could fill the metadata of a call, of which servers take 8 KiB.
STATE_CHARS_MAX = 512
HEADERS = ("traceparent", "tracestate")


def with_trace(metadata: Metadata) -> Metadata:
    """Add the context of the span that is open here, if there is one and none is given.

    The program has loaded OpenTelemetry's API, and something is in its context.
    """
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if not get_current_span().get_span_context().is_valid:
        return metadata
    if any(name == HEADERS[0] for name, _ in metadata):
        return metadata
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    sent = ((name, carrier.get(name, "")) for name in HEADERS)
    return (*metadata, *((name, text) for name, text in sent if 0 < len(text) <= STATE_CHARS_MAX))
