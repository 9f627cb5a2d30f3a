"""Limits of ingest in a dataset's settings."""

from typing import Any

from meta.services.messages import checks
from meta.v1 import operations_pb2

# A hundred years; a longer time is a mistake in the unit.
SECONDS_MAX = 3_155_760_000


def changes(limits: operations_pb2.IngestLimits) -> dict[str, Any]:
    """The limits by the names of DatasetSettings' fields."""
    field = "settings.ingest_limits"
    age_max, lead_max = limits.event_age_max_secs, limits.event_lead_max_secs
    return {
        "ingest_bytes_per_sec": checks.count(limits.bytes_per_sec, f"{field}.bytes_per_sec"),
        "ingest_exports_in_flight": checks.count(
            limits.exports_in_flight, f"{field}.exports_in_flight"
        ),
        "ingest_memory_bytes": checks.count(limits.memory_bytes, f"{field}.memory_bytes"),
        "event_age_max_secs": checks.count(
            age_max, f"{field}.event_age_max_secs", high=SECONDS_MAX
        ),
        "event_lead_max_secs": checks.count(
            lead_max, f"{field}.event_lead_max_secs", high=SECONDS_MAX
        ),
    }


def message(limits: tuple[int, int, int, int, int]) -> operations_pb2.IngestLimits:
    """Write the limits of ingest, in the order of their fields."""
    bytes_per_sec, exports_in_flight, memory_bytes, age_max_secs, lead_max_secs = limits
    return operations_pb2.IngestLimits(
        bytes_per_sec=bytes_per_sec,
        exports_in_flight=exports_in_flight,
        memory_bytes=memory_bytes,
        event_age_max_secs=age_max_secs,
        event_lead_max_secs=lead_max_secs,
    )
