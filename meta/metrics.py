"""Every metric name of meta and its clients, with its unit, its labels and what a rise means.

Labels are bounded: never an id, a name or a token.
"""

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

RPC_SECONDS = Histogram(
    "segplane_rpc_seconds",
    "Time from a request's arrival to its answer. A rise: the database or its locks are slow.",
    ["rpc", "code"],
    buckets=_SECONDS,
)
TX_RETRIES = Counter(
    "segplane_transaction_retries_total",
    "Transactions run again after a conflict. A rise: contention.",
    ["sqlstate"],
)
COMMIT_BATCH_CALLS = Histogram(
    "segplane_commit_batch_calls",
    "Calls that shared one database commit. A rise: more load, better shared.",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
COMMIT_BATCH_FAILURES = Counter(
    "segplane_commit_batch_failures_total",
    "Batches whose calls were run one by one. A rise: contention, or the database is away.",
    ["queue"],
)

EXPORTS = Counter(
    "segplane_collector_exports_total",
    "OTLP exports by signal and outcome.",
    ["signal", "outcome"],
)
EXPORT_BYTES = Counter(
    "segplane_collector_export_bytes_total", "Decompressed bytes of accepted exports.", ["signal"]
)
REJECTED_RECORDS = Counter(
    "segplane_collector_rejected_records_total",
    "Damaged log records, spans and data points left out of accepted exports. A rise: a sender.",
    ["signal"],
)
BUFFERED_BYTES = Gauge(
    "segplane_collector_buffered_bytes",
    "Bytes accepted and not yet acknowledged. A rise: the store or meta is slow.",
)
USAGE_AGE_SECONDS = Gauge(
    "segplane_collector_usage_age_seconds",
    "Age of the usage that the latest export was checked against. A rise: meta is slow or away.",
)
FLUSH_SECONDS = Histogram(
    "segplane_collector_flush_seconds",
    "Time of one flush's put and commit.",
    ["step"],
    buckets=_SECONDS,
)
ADOPTED_BABIES = Counter(
    "segplane_collector_adopted_babies_total",
    "Babies an earlier incarnation had put and not committed. A rise: crashes.",
)

NURSERY_CYCLE_SECONDS = Histogram(
    "segplane_nursery_cycle_seconds", "Time of one nursery cycle.", ["step"], buckets=_SECONDS
)
NURSERY_BACKLOG_BABIES = Gauge(
    "segplane_nursery_backlog_babies", "Committed babies not merged yet. A rise: falling behind."
)
NURSERY_LAG_SECONDS = Gauge(
    "segplane_nursery_lag_seconds",
    "Age of the oldest committed baby that a dataset waits for. A rise: records get visible late.",
)
NURSERY_SEGMENTS = Counter("segplane_nursery_segments_total", "Merged segments registered.")
NURSERY_RECORDS = Counter("segplane_nursery_records_total", "Records in registered segments.")
NURSERY_RACES_LOST = Counter(
    "segplane_nursery_races_lost_total",
    "Batches another nursery merged first. A rise: shards overlap.",
)
QUARANTINED_SLICES = Counter(
    "segplane_nursery_quarantined_slices_total",
    "Payload slices put aside. A rise: a sender or a routing is broken.",
    ["cause"],
)
REAPED_BABIES = Counter("segplane_nursery_reaped_babies_total", "Babies deleted after merging.")

MERGE_TASKS = Counter("segplane_merge_tasks_total", "Merge tasks by outcome.", ["outcome"])
MERGE_BYTES = Counter("segplane_merge_bytes_total", "Compressed bytes written by merges.")

JANITOR_CHORE_SECONDS = Histogram(
    "segplane_janitor_chore_seconds", "Time of one chore.", ["chore"], buckets=_SECONDS
)
JANITOR_CHORE_FAILURES = Counter(
    "segplane_janitor_chore_failures_total",
    "Chores that failed. A rise: look at its log.",
    ["chore"],
)
DELETED_OBJECTS = Counter(
    "segplane_janitor_deleted_objects_total", "Objects deleted, by why.", ["why"]
)
ORPHANS_LEFT = Gauge(
    "segplane_janitor_orphans_left",
    "Orphans beyond the cap of the last sweep. Stays up: a writer fails, or a backup was restored.",
)
