"""Metrics of calls and requests under the names of gRPC and OpenTelemetry, which tools know.

Names, labels and buckets are those of gRFC A66 (https://github.com/grpc/proposal) and of
OpenTelemetry's conventions for HTTP, as Prometheus writes them. A child is made at its first use:
a histogram of 41 buckets for each method and status would be most of an idle server's metrics.
"""

import time
from bisect import bisect_left
from typing import TypeAlias

from prometheus_client import Counter, Histogram

Exemplar: TypeAlias = dict[str, str]
# gRPC's name for methods that a server does not have.
OTHER_METHOD = "other"
OTHER_HTTP_METHOD = "_OTHER"
HTTP_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"}
)
GRPC_BUCKETS = (
    *(0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005),
    *(0.006, 0.008, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13),
    *(0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10, 20, 50, 100),
)
HTTP_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


class BisectedHistogram(Histogram):
    """Histogram that finds its bucket by bisection.

    The library searches from the first of the 41 buckets: 3 us of an export that takes 0.6 s.
    """

    def observe(self, amount: float, exemplar: Exemplar | None = None) -> None:
        """Count an amount, with the trace that it came in."""
        if exemplar:
            super().observe(amount, exemplar)
            return
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(1)
        self._sum.inc(amount)


SERVER_STARTED = Counter(
    "grpc_server_call_started_total",
    "Calls that began at this server, also those that do not end well. A rise: more callers.",
    ["grpc_method"],
    registry=None,
)
SERVER_SECONDS = BisectedHistogram(
    "grpc_server_call_duration_seconds",
    "Seconds from a call's headers to its answer; for a stream, to its end. A deadline that has"
    " passed is CANCELLED. A rise: Postgres, the store or meta is slow.",
    ["grpc_method", "grpc_status"],
    buckets=GRPC_BUCKETS,
    registry=None,
)
CLIENT_STARTED = Counter(
    "grpc_client_attempt_started_total",
    "Attempts of calls of meta, of which a call has one a try. A rise beside the calls that end OK:"
    " a meta does not answer, or sheds load.",
    ["grpc_method", "grpc_target"],
    registry=None,
)
CLIENT_SECONDS = BisectedHistogram(
    "grpc_client_attempt_duration_seconds",
    "Seconds of an attempt of a call of meta, as its caller sees it. A rise: meta or the network is"
    " slow.",
    ["grpc_method", "grpc_target", "grpc_status"],
    buckets=GRPC_BUCKETS,
    registry=None,
)
HTTP_SECONDS = BisectedHistogram(
    "http_server_request_duration_seconds",
    "Seconds from a request's head to the head of its answer; the route is empty for a path that no"
    " route has. A rise: meta or the object store is slow, or answers are larger.",
    ["http_request_method", "http_route", "http_response_status_code"],
    buckets=HTTP_BUCKETS,
    registry=None,
)
SERVER = (SERVER_STARTED, SERVER_SECONDS)
CLIENT = (CLIENT_STARTED, CLIENT_SECONDS)


class MethodCalls:
    """Counts the calls of one method of a server, `/package.Service/Method`."""

    def __init__(self, method: str) -> None:
        self._name = method.removeprefix("/")
        self._started = SERVER_STARTED.labels(self._name)
        self._ended: dict[str, Histogram] = {}

    def begin(self) -> float:
        """Count a call; returns the time of its beginning."""
        self._started.inc()
        return time.perf_counter()

    def end(self, began: float, status: str, exemplar: Exemplar | None = None) -> float:
        """Count a call's end by the name of its status; returns its seconds."""
        secs = time.perf_counter() - began
        child = self._ended.get(status)
        if child is None:
            child = self._ended[status] = SERVER_SECONDS.labels(self._name, status)
        child.observe(secs, exemplar)
        return secs


class ClientCalls:
    """Counts the attempts of one client's calls; `target` is the address it was given."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._started: dict[str, Counter] = {}
        self._ended: dict[tuple[str, str], Histogram] = {}

    def begin(self, method: str) -> float:
        """Count an attempt; returns the time of its beginning."""
        child = self._started.get(method)
        if child is None:
            child = CLIENT_STARTED.labels(method.removeprefix("/"), self._target)
            self._started[method] = child
        child.inc()
        return time.perf_counter()

    def end(self, method: str, began: float, status: str) -> None:
        """Count the end of an attempt by the name of its status."""
        secs = time.perf_counter() - began
        child = self._ended.get((method, status))
        if child is None:
            child = CLIENT_SECONDS.labels(method.removeprefix("/"), self._target, status)
            self._ended[method, status] = child
        child.observe(secs)


class HttpRequests:
    """Counts the requests of one HTTP server."""

    def __init__(self) -> None:
        self._ended: dict[tuple[str, str, int], Histogram] = {}

    def end(self, key: tuple[str, str, int], secs: float, exemplar: Exemplar | None = None) -> None:
        """Count an answered request by its method, route and status code."""
        child = self._ended.get(key)
        if child is None:
            method, route, status = key
            known_method = method if method in HTTP_METHODS else OTHER_HTTP_METHOD
            child = HTTP_SECONDS.labels(known_method, route, str(status))
            if known_method == method:
                self._ended[key] = child
        child.observe(secs, exemplar)
