"""Spans of the calls that a process answers; a process that sends no telemetry does not load it.

Most calls are not sampled, so theirs is the path that has to be short: the SDK's own way to open a
span within a block takes twice as long.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import Token

from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from meta.client.traces import HEADERS, STATE_CHARS_MAX

Headers = Iterable[tuple[str, str | bytes]]
_PROPAGATOR = TraceContextTextMapPropagator()
_NO_PARENT = Context()


class CallSpans:
    """Opens the spans of calls."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def served(
        self, name: str, headers: Callable[[], Headers | None]
    ) -> AbstractContextManager[Span]:
        """Open the span of a call, below that of its caller if its headers name one."""
        return self._opened(name, _parent(headers))

    def joined(
        self, name: str, headers: Callable[[], Headers | None]
    ) -> AbstractContextManager[Span] | None:
        """Open the span of a request whose headers name one; None for any other request."""
        parent = _parent(headers)
        return self._opened(name, parent) if parent else None

    def _opened(self, name: str, parent: Context) -> AbstractContextManager[Span]:
        span = self._tracer.start_span(name, context=parent, kind=SpanKind.SERVER)
        return use_span(span, end_on_exit=True) if span.is_recording() else _Unsampled(span)


class _Unsampled:
    """A block whose span is not recorded, nor are those that are opened within it."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> Span:
        self._token: Token[Context] = attach(set_span_in_context(self._span))
        return self._span

    def __exit__(self, *_: object) -> None:
        detach(self._token)


def _parent(headers: Callable[[], Headers | None]) -> Context:
    """Return the context of the caller's span; an empty one if there is none."""
    carrier = _carrier(headers() or ())
    return _PROPAGATOR.extract(carrier) if carrier else _NO_PARENT


def _carrier(headers: Headers) -> dict[str, str]:
    """Return the headers of a trace, by their names in lower case."""
    carrier: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key in HEADERS and isinstance(value, str) and len(value) <= STATE_CHARS_MAX:
            carrier[key] = f"{carrier[key]},{value}" if key in carrier else value
    # The SDK takes the first of several, which is not valid.
    return carrier if "," not in carrier.get(HEADERS[0], "") else {}
