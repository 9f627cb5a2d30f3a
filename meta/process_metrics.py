"""Metrics that every process has: its release, and what strangers make its libraries meet."""

from collections.abc import Iterable
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

LIBRARY_MESSAGES = Counter(
    "segplane_library_messages_total",
    "Messages of libraries by level; one a minute of each place is logged, without its text. A"
    " rise: somebody sends malformed requests, or a library meets faults (event library_message).",
    ["level"],
    registry=None,
)
METRICS_FAULTS = Counter(
    "segplane_metrics_request_faults_total",
    "Requests to the metrics port that broke off or failed. A rise: somebody sends what is no"
    " request: a scanner of ports, or a scraper without TLS.",
    registry=None,
)
BUILD_INFO = Gauge(
    "segplane_build_info",
    "1, with the release of the process and of its Python. Several releases: an upgrade is not"
    " finished.",
    ["version", "python"],
    registry=None,
)
METRICS = (LIBRARY_MESSAGES, METRICS_FAULTS, BUILD_INFO)


def preset(metric: Counter | Gauge | Histogram, *labels: Iterable[str]) -> None:
    """Make the children of a metric for all combinations of these values of its labels.

    They start at 0. Prometheus sees an increase only between two values: without a 0 the first
    event of a process is none.
    """
    for values in product(*labels):
        metric.labels(*values)


preset(LIBRARY_MESSAGES, ("warning", "error"))


def registry() -> CollectorRegistry:
    """Make a registry of one service, which has these metrics."""
    made = CollectorRegistry()
    for metric in METRICS:
        made.register(metric)
    return made
