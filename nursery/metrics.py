"""Metrics of nurseries, each with its unit, its labels and the meaning of a rise."""

from functools import partial

from prometheus_client import Counter, Gauge, Histogram

from meta.metrics import NURSERY, SECONDS_BUCKETS
from meta.process_metrics import preset

_gauge = partial(Gauge, registry=NURSERY)
_counter = partial(Counter, registry=NURSERY)
NURSERY_CYCLE_SECONDS = Histogram(
    "segplane_nursery_cycle_seconds",
    "Seconds of one nursery cycle, by step. A rise: more to merge, or Spark or the store is slow.",
    ["step"],
    buckets=SECONDS_BUCKETS,
    registry=NURSERY,
)
NURSERY_BACKLOG_BABIES = _gauge(
    "segplane_nursery_backlog_babies",
    "Committed baby segments not merged yet. A rise: the nursery does not keep up with ingest.",
)
NURSERY_LAG_SECONDS = _gauge(
    "segplane_nursery_lag_seconds",
    "Age of the oldest baby segment that a dataset has not merged. A rise: records show late.",
)
NURSERY_SHARDS = _gauge(
    "segplane_nursery_shards",
    "Shards of streams that this nursery merges, of 64 in all; 1 if its settings fix its share. The"
    " sum over all nurseries stays below 64: streams wait until a lease expires.",
)
NURSERY_BYTES_READ = _counter(
    "segplane_nursery_bytes_read_total",
    "Bytes of babies read. Above twice what collectors write: jobs are repeated, nurseries race.",
)
NURSERY_SEGMENTS = _counter(
    "segplane_nursery_segments_total",
    "Merged segments registered. A rise: more datasets, days or ingest.",
)
NURSERY_RECORDS = _counter(
    "segplane_nursery_records_total",
    "Records that became rows of registered merged segments. A rise: more ingest.",
)
NURSERY_DUPLICATES = _counter(
    "segplane_nursery_duplicates_total",
    "Records that became no row because their events are rows already. A rise: a sender repeats.",
)
NURSERY_WAITING_DATASETS = _gauge(
    "segplane_nursery_waiting_datasets",
    "Datasets that are not merged. A rise: the log event dataset_waiting says why and what to do.",
)
NURSERY_PARKED_STREAMS = _gauge(
    "segplane_nursery_parked_streams",
    "Streams that wait at a missing or unreadable baby segment. A rise: segplane streams list.",
)
NURSERY_RACES_LOST = _counter(
    "segplane_nursery_races_lost_total",
    "Registrations refused: another nursery was first. A rise: shards of nurseries overlap.",
)
QUARANTINED_SLICES = _counter(
    "segplane_nursery_quarantined_slices_total",
    "Payload slices quarantined, by cause. A rise: undecodable data, or routings without dataset.",
    ["cause"],
)
REAPED_BABIES = _counter(
    "segplane_nursery_reaped_babies_total",
    "Baby segments deleted after all their datasets had merged them. A rise: more ingest.",
)
preset(NURSERY_CYCLE_SECONDS, ("job", "register", "reap"))
preset(
    QUARANTINED_SLICES,
    (
        *("undecodable", "corrupt_baby", "corrupt_slice", "outside_window"),
        *("no_route", "no_entry", "unannounced"),
    ),
)
