"""Search for traces: the parameters of an address, and the conditions that they are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kql.errors import KqlError
from segplane.gateway.console.addresses import address_of, changed_address, dataset_of
from segplane.gateway.console.kql_text import text_literal
from segplane.gateway.console.logs.search import parse_search
from segplane.gateway.console.time_range import TimeRange, parse_range
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management.times import nanos_of

TRACES_PATH = "/ui/traces"
_CHARACTERS_MAX = 255
_STATUS_CODES = {"unset": 0, "ok": 1, "error": 2}
_UNIT_NANOS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_DURATION = re.compile(r"\s*([0-9]{1,9}(?:[.][0-9]{1,9})?)\s*(ns|us|µs|ms|s|m)\s*")
_TRACE_ID = re.compile(r"(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?")


@dataclass(frozen=True, slots=True)
class TraceCursor:
    """The trace after which a page begins: the time of its newest match, and its id."""

    time: str
    trace_id: str

    def text(self) -> str:
        """Return it as an address has it."""
        return f"{self.time} {self.trace_id}"


@dataclass(frozen=True, slots=True)
class TraceAsk:
    """A search for the traces of a dataset that have a matching span."""

    dataset: str
    range: TimeRange
    service: str = ""
    operation: str = ""
    # Durations as the person wrote them.
    longer: str = ""
    shorter: str = ""
    status: str = ""
    search: str = ""
    condition: str = ""
    after: TraceCursor | None = None

    def address(self) -> str:
        """Return its address."""
        pairs = {
            "dataset": self.dataset,
            **self.range.parameters(),
            "service": self.service,
            "operation": self.operation,
            "longer": self.longer,
            "shorter": self.shorter,
            "status": self.status,
            "q": self.search,
            "after": self.after.text() if self.after else "",
        }
        return address_of(TRACES_PATH, pairs.items())

    def at_range(self, range_: TimeRange) -> "TraceAsk":
        """Return the same search of another time, from its newest trace on."""
        return replace(self, range=range_, after=None)

    def conditions(self) -> list[str]:
        """Return its conditions on a span."""
        conditions = []
        if self.service:
            conditions.append(f"service_name == {text_literal(self.service)}")
        if self.operation.endswith("*"):
            conditions.append(f"name startswith_cs {text_literal(self.operation[:-1])}")
        elif self.operation:
            conditions.append(f"name == {text_literal(self.operation)}")
        if self.longer:
            conditions.append(f"duration_ns >= {parse_duration(self.longer)}")
        if self.shorter:
            conditions.append(f"duration_ns <= {parse_duration(self.shorter)}")
        if self.status:
            conditions.append(f"status_code == {_STATUS_CODES[self.status]}")
        if self.condition:
            # On a line of its own, so that the excerpt of a refusal has the person's words.
            conditions.append(f"\n{self.condition}\n")
        return conditions


def parse_trace_ask(parameters: Mapping[str, str], now_nanos: int) -> TraceAsk:
    """Parse the parameters of an address. Raises QueryRefusal."""
    dataset = dataset_of(parameters)
    names = ("service", "operation", "longer", "shorter", "status", "q")
    values = {name: parameters.get(name, "").strip() for name in names}
    for name in names[:-1]:
        if len(values[name]) > _CHARACTERS_MAX:
            raise QueryRefusal(f"{name} has more than {_CHARACTERS_MAX} characters")
    if values["status"] not in ("", *_STATUS_CODES):
        raise QueryRefusal(f"status is {values['status'][:80]!r}, expected unset, ok or error")
    for name in ("longer", "shorter"):
        if values[name]:
            parse_duration(values[name])
    return TraceAsk(
        dataset,
        parse_range(parameters, now_nanos),
        values["service"],
        values["operation"],
        values["longer"],
        values["shorter"],
        values["status"],
        values["q"],
        _condition(values["q"]),
        _cursor(parameters.get("after", "")),
    )


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a duration such as 1.5s or 200ms. Raises QueryRefusal."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise QueryRefusal(f"a duration is {text[:80]!r}, expected one such as 200ms or 1.5s")
    return round(float(match[1]) * _UNIT_NANOS[match[2]])


def find_trace_id(text: str) -> str | None:
    """Return the trace id that a text is: 32 hex digits, a UUID, or a traceparent header."""
    text = text.strip().strip("\"'").lower()
    match = _TRACE_ID.fullmatch(text) or _TRACE_ID.fullmatch(text.replace("-", ""))
    return match[1] if match else None


def _condition(text: str) -> str:
    """Return a condition in KQL. Raises QueryRefusal, with the words that caused it."""
    if not text:
        return ""
    text = text if text.startswith("|") else f"| where {text}"
    try:
        return parse_search(text).condition
    except KqlError as error:
        raise QueryRefusal(str(error), error.excerpt(text)) from None


def _cursor(text: str) -> TraceCursor | None:
    if not text:
        return None
    time, _, trace_id = text.partition(" ")
    try:
        nanos_of(time)
    except ValueError:
        raise changed_address("page") from None
    return TraceCursor(time, trace_id[:_CHARACTERS_MAX])
