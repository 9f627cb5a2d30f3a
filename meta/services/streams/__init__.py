"""IngestionService, IngestTokenService, and the calls about streams and nurseries' shards."""

from meta.services.server_parts import Operations
from meta.services.streams.nursery_shards import lease_nursery_shards
from meta.services.streams.stream_offsets import (
    get_committed_flushes,
    get_offsets_at,
    get_usage,
    locate_offset,
)

OPERATIONS: Operations = {
    "LeaseNurseryShards": lease_nursery_shards,
    "GetOffsetsAt": get_offsets_at,
    "LocateOffset": locate_offset,
    "GetCommittedFlushes": get_committed_flushes,
    "GetUsage": get_usage,
}
