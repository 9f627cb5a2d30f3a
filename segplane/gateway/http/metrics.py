"""Every metric of the gateway, with its unit, its labels and the meaning of a rise."""

from functools import partial

from prometheus_client import Counter, Gauge, Histogram

from meta.metrics import GATEWAY
from meta.process_metrics import preset

_counter = partial(Counter, registry=GATEWAY)
_gauge = partial(Gauge, registry=GATEWAY)
_histogram = partial(Histogram, registry=GATEWAY)
REQUEST_SECONDS = _histogram(
    "segplane_gateway_request_seconds",
    "Seconds from a request to its answer, by what it asks for and status. A rise: meta or the"
    " object store is slow, or large tables are read from their beginning. Old name, until 1.0, of"
    " http_server_request_duration_seconds.",
    ["route", "status"],
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
RESTRICTED_CONNECTIONS = _counter(
    "segplane_gateway_restricted_connections_total",
    "Connections that were closed, by reason: connections = newer ones needed the place, request ="
    " it did not come whole in time, stall = an answer was not read. A rise: somebody holds the"
    " gateway's connections.",
    ["why"],
)
FOREIGN_REQUESTS = _counter(
    "segplane_gateway_foreign_requests_total",
    "Requests that a web page may have made a browser send, by the type of their refusal:"
    " MisdirectedRequest = for another host name, Forbidden = of another origin or site,"
    " UnsupportedMediaType = a body that is not sent as JSON. A rise: a page tries, or clients need"
    " GATEWAY_HOSTS or a content type.",
    ["why"],
)
QUERIES = _counter(
    "segplane_gateway_queries_total",
    "Queries by how they ended: done, broken (its result was cut off), gone (its caller left), or"
    " the type of a refusal. A rise of QueryStopped or TooManyQueries: callers reach their limits.",
    ["outcome"],
)
QUERY_SECONDS = _histogram(
    "segplane_gateway_query_seconds",
    "Seconds that a query had a process, from its start to the last byte of its result. A rise:"
    " queries read more, or their callers read slowly.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
RUNNING_QUERIES = _gauge(
    "segplane_gateway_running_queries",
    "Queries that have a process now. At GATEWAY_QUERY_CONCURRENT: others wait.",
)
LIVE_FEEDS = _gauge(
    "segplane_gateway_live_feeds",
    "Datasets that live views of the console follow now, by rights; each is one read of meta a"
    " second. A rise: more people follow records. At 128: further views are refused.",
)
SCANNED_BYTES = _counter(
    "segplane_gateway_scanned_bytes_total",
    "Bytes that queries read of files, spilled ones included. A rise: more or larger queries.",
)
KEPT_DATASETS_USED = _counter(
    "segplane_gateway_kept_datasets_used_total",
    "Datasets that a query found open, as an earlier query of its caller had left them. A rise:"
    " callers ask again soon.",
)
OPENED_DATASETS = _counter(
    "segplane_gateway_opened_datasets_total",
    "Datasets that were opened for queries. A rise beside the ones found open: datasets change"
    " between queries, or callers ask seldom.",
)
WRITTEN_OBJECTS = _counter(
    "segplane_gateway_written_objects_total",
    "Objects of table metadata that this process wrote. A rise: more tables are read, or change"
    " more often.",
)
WRITTEN_BYTES = _counter(
    "segplane_gateway_written_bytes_total",
    "Bytes of the objects of table metadata that this process wrote. A rise: tables have more"
    " segments, or change more often.",
)
LEFT_OUT_SEGMENTS = _counter(
    "segplane_gateway_left_out_segments_total",
    "Objects of clients that a query or a table skipped, each time. A rise: segplane segments find"
    " --unreadable names them.",
)
FOLLOWED_SEGMENTS = _gauge(
    "segplane_gateway_followed_segments",
    "Segments of the tables that this process keeps in memory, about 1 KB each. A rise: more or"
    " larger tables are read.",
)
preset(QUERIES, ("done", "broken", "gone", "QueryStopped", "TooManyQueries", "InternalError"))
preset(RESTRICTED_CONNECTIONS, ("connections", "request", "stall"))
