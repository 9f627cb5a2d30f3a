"""Signals: one row for each kind of telemetry, with the names that other formats give it."""

from dataclasses import dataclass
from typing import Literal

Signal = Literal["logs", "metrics", "traces"]


@dataclass(frozen=True, slots=True)
class SignalTraits:
    """The names that formats and protocols give a signal.

    `kind` is its SignalKind, and the number of its payloads' field in TokenSignals. `messages` are
    OTLP's message names from the payload down to the record, and `containers` the repeated fields
    between them. `records` is the plural noun for its rows.
    """

    name: Signal
    kind: int
    messages: tuple[str, str, str, str]
    containers: tuple[str, str, str]
    records: str
    otlp_service: str

    @property
    def json_name(self) -> str:
        """The member of an OTLP/JSON export that has the resources."""
        kind, plural = self.containers[0].split("_")
        return kind + plural.capitalize()

    @property
    def http_path(self) -> str:
        """The path of an export over OTLP/HTTP."""
        return f"/v1/{self.name}"

    @property
    def grpc_method(self) -> str:
        """The full name of the method that exports over OTLP/gRPC."""
        return f"/opentelemetry.proto.collector.{self.otlp_service}/Export"

    @property
    def routing_field(self) -> str:
        """The field of the contract's IngestTokenRouting that names the signal's dataset."""
        return f"{self.name}_dataset_id"


# In the order of a segment's sections, which is also the order of the values of column `signal`.
_ROWS = (
    SignalTraits(
        name="logs",
        kind=1,
        messages=("LogsData", "ResourceLogs", "ScopeLogs", "LogRecord"),
        containers=("resource_logs", "scope_logs", "log_records"),
        records="log records",
        otlp_service="logs.v1.LogsService",
    ),
    SignalTraits(
        name="metrics",
        kind=3,
        messages=("MetricsData", "ResourceMetrics", "ScopeMetrics", "Metric"),
        containers=("resource_metrics", "scope_metrics", "metrics"),
        records="data points",
        otlp_service="metrics.v1.MetricsService",
    ),
    SignalTraits(
        name="traces",
        kind=2,
        messages=("TracesData", "ResourceSpans", "ScopeSpans", "Span"),
        containers=("resource_spans", "scope_spans", "spans"),
        records="spans",
        otlp_service="trace.v1.TraceService",
    ),
)

TRAITS: dict[Signal, SignalTraits] = {row.name: row for row in _ROWS}
SIGNALS: tuple[Signal, ...] = tuple(TRAITS)


def member_name(field: str) -> str:
    """Return the name in JSON of a field of the protos."""
    first, *others = field.split("_")
    return first + "".join(map(str.capitalize, others))
