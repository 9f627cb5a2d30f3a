"""Calls about rewrites as jobs."""

from meta.services.rewrites.rewrite_jobs import (
    create_rewrite_job,
    get_segment_formats,
    list_rewrite_jobs,
    update_rewrite_job,
)
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "CreateRewriteJob": create_rewrite_job,
    "UpdateRewriteJob": update_rewrite_job,
    "ListRewriteJobs": list_rewrite_jobs,
    "GetSegmentFormats": get_segment_formats,
}
