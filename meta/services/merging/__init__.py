"""JanitorService, MergeTaskService, and the calls that explain and release merges."""

from meta.services.merging.exclusions import heartbeat_merge_task, release_segment
from meta.services.merging.merge_plan import explain_merge_plan
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "HeartbeatMergeTask": heartbeat_merge_task,
    "ReleaseSegment": release_segment,
    "ExplainMergePlan": explain_merge_plan,
}
