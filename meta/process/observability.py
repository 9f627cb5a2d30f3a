"""Observability of a process: structured logs on stderr, its metrics, its own telemetry."""

import logging
import sys

import structlog

from meta import metrics, telemetry
from meta.process import library_logs
from meta.process.environment import environment
from meta.process.exits import fail
from meta.process.setting_names import COMMON
from meta.telemetry import TelemetryDataset

TELEMETRY_DATASET = "SELF_TELEMETRY_DATASET"


def configure_logging(service: str, *, json: bool | None = None) -> None:
    """Send structlog events to stderr: one JSON object per line, or readable on a terminal.

    Libraries do not log by themselves. Exposes the metrics of `service`. With
    OTEL_EXPORTER_OTLP_ENDPOINT set, events, metrics and spans go there too.
    """
    metrics.expose(service)
    as_json = not sys.stderr.isatty() if json is None else json
    exported: list[structlog.typing.Processor] = []
    if telemetry.is_enabled():
        exported.append(telemetry.install(service, _telemetry_dataset()))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *exported,
            structlog.processors.JSONRenderer(default=str)
            if as_json
            else structlog.dev.ConsoleRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # One write a line: several processes share one pipe.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    library_logs.take_over()


def _telemetry_dataset() -> TelemetryDataset | None:
    """The dataset of this installation that receives its telemetry; None = none is told."""
    text = environment(COMMON).text(TELEMETRY_DATASET, "")
    name, _, dataset_id = text.rpartition("=")
    if text and not (name and dataset_id):
        fail(f"{COMMON}{TELEMETRY_DATASET} is {text!r}, not NAME=ID of a dataset")
    return TelemetryDataset(name, dataset_id) if text else None
