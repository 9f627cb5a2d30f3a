"""Metrics of meta, collectors, merge workers and janitors: unit, labels and meaning of a rise.

Each process exposes its own metrics only, so that `absent(...)` of another process's metric can
fire. Labels are bounded: never an id, a dataset name or a token.
"""

from functools import partial
from platform import python_version

from prometheus_client import REGISTRY, Counter, Gauge, Histogram

from meta import call_metrics, process_metrics
from meta.process.installed import installed_release
from meta.process_metrics import preset

_SERVICES = ("meta", "collector", "nursery", "merge_worker", "janitor", "gateway")
REGISTRIES = {service: process_metrics.registry() for service in _SERVICES}
META, COLLECTOR, NURSERY, MERGE_WORKER, JANITOR, GATEWAY = REGISTRIES.values()
for _server in (META, COLLECTOR):
    for _metric in call_metrics.SERVER:
        _server.register(_metric)
for _client in (COLLECTOR, NURSERY, MERGE_WORKER, JANITOR, GATEWAY):
    for _metric in call_metrics.CLIENT:
        _client.register(_metric)
for _server in (COLLECTOR, GATEWAY):
    _server.register(call_metrics.HTTP_SECONDS)
SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_collector_counter = partial(Counter, registry=COLLECTOR)
_meta_gauge = partial(Gauge, registry=META)
_meta_counter = partial(Counter, registry=META)
_janitor_gauge = partial(Gauge, registry=JANITOR)
_janitor_counter = partial(Counter, registry=JANITOR)


# A process that runs several services.
_COMBINED = {"pipeline": ("nursery", "merge_worker")}


def expose(service: str) -> None:
    """Add the metrics of a service to those that this process serves; once a process."""
    process_metrics.BUILD_INFO.labels(installed_release(), python_version()).set(1)
    first, *others = _COMBINED.get(service, (service,))
    REGISTRY.register(REGISTRIES.get(first) or process_metrics.registry())
    for other in others:
        # Metrics of all services are there once.
        for metric in (*process_metrics.METRICS, *call_metrics.CLIENT, CLOCK_SKEW[other]):
            REGISTRIES[other].unregister(metric)
        REGISTRY.register(REGISTRIES[other])


# The skew of each process, and that of the object store as the janitor sees it.
CLOCK_SKEW = {
    service: Gauge(
        "segplane_clock_skew_seconds",
        "Seconds by which its clock is ahead of the database's. Away from 0: its stamps are wrong.",
        registry=registry,
    )
    for service, registry in REGISTRIES.items()
    if registry is not GATEWAY
}
FREE_PLACES = {
    service: Gauge(
        "segplane_free_places",
        "Free places of each bound. Near 0: what comes next is refused, or displaces others.",
        ["bound"],
        registry=REGISTRIES[service],
    )
    for service in ("meta", "collector", "gateway")
}
STORE_CLOCK_SKEW = _janitor_gauge(
    "segplane_store_clock_skew_seconds",
    "Seconds by which its clock is ahead of the database's. Away from 0: object times mislead.",
)

RESTRICTED_CALLS = _meta_counter(
    "segplane_restricted_calls_total",
    "Calls refused, ended or delayed, by caller and reason. A rise: a flood, or an outgrown bound.",
    ["who", "why"],
)
COLLECTOR.register(RESTRICTED_CALLS)
RPC_SECONDS = Histogram(
    "segplane_rpc_seconds",
    "Seconds from a call's headers to its answer, by method and code. A rise: Postgres is slow. Old"
    " name, until 1.0, of grpc_server_call_duration_seconds.",
    ["rpc", "code"],
    buckets=SECONDS_BUCKETS,
    registry=META,
)
REGISTRATION_EXCESS_EVENTS = _meta_counter(
    "segplane_registration_excess_events_total",
    "Events of registrations beyond counted records. A rise: a nursery doubles or invents some.",
)
ALLOWED_EXCESS_EVENTS = _meta_counter(
    "segplane_registration_allowed_excess_events_total",
    "Excess events that an operator has allowed. A rise: revoke the allowance after its cause.",
)
TX_RETRIES = _meta_counter(
    "segplane_transaction_retries_total",
    "Transactions run again after a conflict, by SQLSTATE. A rise: calls contend for rows.",
    ["sqlstate"],
)
COMMIT_BATCH_CALLS = Histogram(
    "segplane_commit_batch_calls",
    "Calls that shared one database commit, by queue. A rise: more calls at the same time.",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
    registry=META,
)
COMMIT_BATCH_FAILURES = _meta_counter(
    "segplane_commit_batch_failures_total",
    "Batches that failed, whose calls were then run singly. A rise: contention, or no Postgres.",
    ["queue"],
)
CLOCK_STEPS = _meta_counter(
    "segplane_meta_clock_steps_total",
    "Steps of the database's clock, by direction. A rise: its time synchronisation jumps.",
    ["direction"],
)
BACKGROUND_FAILURES = _meta_counter(
    "segplane_meta_background_failures_total",
    "Runs of a background job or expiry rule that failed and are repeated. A rise: see the log.",
    ["job"],
)
BACKGROUND_SUCCESS = _meta_gauge(
    "segplane_meta_background_success_timestamp_seconds",
    "Unix time of the last good run of a background job or rule. No rise: it fails or hangs.",
    ["job"],
)
DATABASE_CAUSES = _meta_gauge(
    "segplane_meta_database_causes",
    "1 = calls fail by this cause. Not 0: an operator has to mend it; see database_needs_operator.",
    ["cause"],
)
WITNESS_STATE = _meta_gauge(
    "segplane_meta_witness_state",
    "1 = meta keeps a witness of its database. Not 1: none (0), restored (2), taken over (3).",
)
DELETION_HELD = _meta_gauge(
    "segplane_meta_deletion_held",
    "1 while nothing is deleted. Stays at 1: segplane deletion.",
)
MERGE_DEBT_SEGMENTS = _meta_gauge(
    "segplane_merge_debt_segments",
    "Segments that wait for a merge, most of a dataset; 0 below the bound. A rise: merges lag.",
)
PINS = _meta_gauge(
    "segplane_pins",
    "Pins whose lease lasts, as every server shows them. A rise: more readers hold versions.",
)
PIN_HELD_BYTES = _meta_gauge(
    "segplane_pin_held_bytes",
    "Compressed bytes that pins hold, twice for two pins. A rise: storage that is not freed.",
)
PIN_AGE_SECONDS = _meta_gauge(
    "segplane_pin_age_seconds",
    "Seconds since the oldest pin was taken. A rise: a reader keeps its version.",
)
EXPORTS = _collector_counter(
    "segplane_collector_exports_total",
    "OTLP exports by outcome. A rise of others than accepted, duplicate, empty: they are refused.",
    ["signal", "outcome"],
)
RECORDS = _collector_counter(
    "segplane_collector_records_total",
    "Records of acknowledged exports by signal, which monthly limits count. A rise: more ingest.",
    ["signal"],
)
EXPORT_BYTES = _collector_counter(
    "segplane_collector_export_bytes_total",
    "Decompressed bytes of accepted exports by signal. A rise: senders send more.",
    ["signal"],
)
REJECTED_RECORDS = _collector_counter(
    "segplane_collector_rejected_records_total",
    "Malformed records skipped in accepted exports. A rise: a sender produces malformed records.",
    ["signal"],
)
UNKNOWN_MEMBERS = _collector_counter(
    "segplane_collector_unknown_members_total",
    "Members of OTLP/JSON that no schema knows, which were ignored. A rise: a sender misspells them"
    " or speaks another release of OTLP.",
    ["signal"],
)
CUT_ATTRIBUTES = _collector_counter(
    "segplane_collector_cut_attributes_total",
    "Attributes beyond the collector's bounds, dropped or shortened. A rise: a sender's are large.",
    ["signal", "cut"],
)
OUT_OF_WINDOW_RECORDS = _collector_counter(
    "segplane_collector_out_of_window_records_total",
    "Records rejected as too old or too far ahead. A rise: wrong clock of a sender, or old data.",
    ["signal"],
)
BUFFERED_BYTES = Gauge(
    "segplane_collector_buffered_bytes",
    "Bytes of exports that are not yet acknowledged. A rise: store, meta or senders are slow.",
    registry=COLLECTOR,
)
THROTTLED_EXPORTS = _collector_counter(
    "segplane_collector_throttled_exports_total",
    "Exports refused because their ingest token was over a limit, by limit (bytes_per_sec,"
    " exports_in_flight, memory). A rise: a sender exceeds its share, and has to retry later.",
    ["limit"],
)
BUFFER_LIMIT_BYTES = Gauge(
    "segplane_collector_buffer_limit_bytes",
    "Most bytes of exports that are not yet acknowledged. Near it: exports get UNAVAILABLE.",
    registry=COLLECTOR,
)
USAGE_AGE_SECONDS = Gauge(
    "segplane_collector_usage_age_seconds",
    "Age of the usage that a quota was checked by. A rise: meta is slow, quotas are enforced late.",
    registry=COLLECTOR,
)
FLUSH_SECONDS = Histogram(
    "segplane_collector_flush_seconds",
    "Seconds of one flush, by step. A rise: the object store (put) or meta (commit) is slow.",
    ["step"],
    buckets=SECONDS_BUCKETS,
    registry=COLLECTOR,
)
ADOPTED_BABIES = _collector_counter(
    "segplane_collector_adopted_babies_total",
    "Baby segments of an earlier incarnation, committed by this one. A rise: collectors crash.",
)
MERGE_TASKS = Counter(
    "segplane_merge_tasks_total",
    "Merge tasks by outcome. A rise of failed: the worker's log; of lost: claims expire too early.",
    ["outcome"],
    registry=MERGE_WORKER,
)
MERGE_BYTES = Counter(
    "segplane_merge_bytes_total",
    "Compressed bytes written by merges. A rise: more compaction, hence more cost of writes.",
    registry=MERGE_WORKER,
)
JANITOR_CHORE_SECONDS = Histogram(
    "segplane_janitor_chore_seconds",
    "Seconds of one run of a janitor job. A rise: more to do, or the store or meta is slow.",
    ["chore"],
    buckets=SECONDS_BUCKETS,
    registry=JANITOR,
)
JANITOR_CHORE_FAILURES = _janitor_counter(
    "segplane_janitor_chore_failures_total",
    "Runs of a janitor job that failed and are repeated. A rise: its work is not done; see logs.",
    ["chore"],
)
DELETED_OBJECTS = _janitor_counter(
    "segplane_janitor_deleted_objects_total",
    "Objects deleted, by reason. A rise of orphan or unfinished: writers fail before registering.",
    ["why"],
)
DAMAGED_OBJECTS = _janitor_gauge(
    "segplane_janitor_damaged_objects",
    "Damaged objects. Above 0: segplane fsck.",
)
SCRUBBED_BYTES = _janitor_counter(
    "segplane_janitor_scrubbed_bytes_total",
    "Bytes compared with checksums. No rise: it stands still.",
)
ORPHANS_LEFT = _janitor_gauge(
    "segplane_janitor_orphans_left",
    "Orphans that the limit of a run left. Stays above 0: a writer fails, or a backup is too old.",
)
BRAKED_DATASETS = _janitor_gauge(
    "segplane_janitor_braked_datasets",
    "Datasets that would lose much at once. Above 0: segplane deletion.",
)

_SIGNALS = ("logs", "traces", "metrics")
# Outcomes of exports that were taken, and codes and reasons of refusals.
_OUTCOMES = (
    *("accepted", "duplicate", "empty", "unavailable"),
    *("invalid_argument", "unauthenticated", "permission_denied", "not_found"),
    *("resource_exhausted", "token_limit", "quota_exceeded"),
)
preset(EXPORTS, _SIGNALS, _OUTCOMES)
for _by_signal in (RECORDS, EXPORT_BYTES, REJECTED_RECORDS, OUT_OF_WINDOW_RECORDS):
    preset(_by_signal, _SIGNALS)
preset(call_metrics.HTTP_SECONDS, ("GET",), ("/healthz",), ("200",))
preset(THROTTLED_EXPORTS, ("bytes_per_sec", "exports_in_flight", "memory", "merge_debt"))
preset(FLUSH_SECONDS, ("put", "commit"))
preset(RESTRICTED_CALLS, ("stranger",), ("health",))
preset(TX_RETRIES, ("40001", "40P01"))
preset(CLOCK_STEPS, ("forward", "backward"))
preset(MERGE_TASKS, ("completed", "failed", "deferred", "lost", "given_up", "dropped"))
preset(DELETED_OBJECTS, ("tombstoned", "table_metadata", "unfinished", "orphan"))
