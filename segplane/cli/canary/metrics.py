"""Every metric of a canary, with its unit, its labels and the meaning of a rise."""

from prometheus_client import Counter, Gauge, Histogram

from meta.process_metrics import preset
from segplane.cli.canary.probes import ProbeResult

RECORDS = Counter(
    "segplane_canary_records_total",
    "Records by result: arrived, late, lost, doubled, refused (by the collector), unread (the"
    " dataset could not be read). A rise of others than arrived: see the canary's lines.",
    ["result"],
)
SECONDS = Histogram(
    "segplane_canary_seconds",
    "Seconds from sending a record until it was acknowledged, visible, merged. A rise: the step is"
    " slow, as `segplane why` explains.",
    ["step"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300),
)
ARRIVED_AT = Gauge(
    "segplane_canary_arrived_timestamp_seconds",
    "Unix time at which the last record arrived. No rise: records do not arrive, or none is sent.",
)
READ_FAILURES = Counter(
    "segplane_canary_read_failures_total",
    "Readings that failed and are repeated. A rise: meta, the bucket or the gateway is away.",
)
preset(RECORDS, [result.value for result in ProbeResult])
