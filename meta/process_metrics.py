"""Metrics that every process has: what strangers make its libraries and its metrics port meet."""

from prometheus_client import CollectorRegistry, Counter

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


METRICS = (LIBRARY_MESSAGES, METRICS_FAULTS)


def registry() -> CollectorRegistry:
    """Make a registry of one service, which has these metrics."""
    made = CollectorRegistry()
    for counter in METRICS:
        made.register(counter)
    return made
