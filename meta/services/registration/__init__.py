"""NurseryService and bulk registration: merged segments become visible and offsets move."""

from meta.services.registration.event_claims import claim_events, stage_deduplication_keys
from meta.services.registration.registrations import register_merged_segments
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "ClaimEvents": claim_events,
    "RegisterMergedSegments": register_merged_segments,
    "StageDeduplicationKeys": stage_deduplication_keys,
}
