"""Rewrites as jobs, and the formats of segments."""

from meta.errors import InvalidArgument, NotFound
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.engine.pool import Transaction
from meta.store.rewrites import rewrite_jobs
from meta.store.rewrites.rewrite_jobs import JOBS_LISTED_MAX, JobState, NewRewriteJob, RewriteJobRow
from meta.store.segments import object_stores
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segments.location import StoreUnknown

TASKS_DEFAULT = 16
TASKS_MAX = 1_000
JOBS_DEFAULT = 100
_CHANGES = {
    pb.REWRITE_JOB_STATE_RUNNING: JobState.RUNNING,
    pb.REWRITE_JOB_STATE_PAUSED: JobState.PAUSED,
    pb.REWRITE_JOB_STATE_CANCELLED: JobState.CANCELLED,
}


def create_rewrite_job(
    server: ServerParts, request: pb.CreateRewriteJobRequest
) -> pb.CreateRewriteJobResponse:
    """Begin to write the segments of a dataset again."""
    start_ns = end_ns = None
    if request.HasField("time_range"):
        start_ns, end_ns = checks.half_open_range(request.time_range, "time_range")
    tasks_max = checks.count(request.tasks_max, "tasks_max", high=TASKS_MAX)
    store = _store(server, request) if request.HasField("store") else None
    new = NewRewriteJob(
        id=checks.uuid(request.id, "id"),
        dataset_id=checks.uuid(request.dataset_id, "dataset_id"),
        format_version=checks.count(request.format_version, "format_version") or None,
        start_ns=start_ns,
        end_ns=end_ns,
        tasks_max=tasks_max or TASKS_DEFAULT,
        bytes_per_sec=checks.size(request.bytes_per_sec, "bytes_per_sec") or None,
        store=store,
        inexact_bounds=request.inexact_bounds,
    )

    def work(tx: Transaction) -> RewriteJobRow:
        if store:
            # A server without it may have started since and found it unused.
            object_stores.remember(tx, store, server.settings.stores.get(store).url())
        return rewrite_jobs.create(tx, new)

    job = server.transactions.write(work)
    return pb.CreateRewriteJobResponse(rewrite=_message(job))


def _store(server: ServerParts, request: pb.CreateRewriteJobRequest) -> str:
    """The store of a move, "" = the default one."""
    if request.format_version or request.HasField("time_range") or request.inexact_bounds:
        raise InvalidArgument("a move takes all segments of its dataset", field="store")
    try:
        server.settings.stores.get(request.store)
    except StoreUnknown as error:
        raise NotFound(str(error), store=request.store) from None
    return request.store


def update_rewrite_job(
    server: ServerParts, request: pb.UpdateRewriteJobRequest
) -> pb.UpdateRewriteJobResponse:
    """Pause, resume, cancel or bound a rewrite."""
    job_id = checks.uuid(request.id, "id")
    state = None
    if request.HasField("state"):
        state = _CHANGES.get(request.state)
        if state is None:
            raise InvalidArgument("state must be RUNNING, PAUSED or CANCELLED", field="state")
    tasks_max = checks.optional_count(request, "tasks_max", low=1, high=TASKS_MAX)
    bytes_per_sec = checks.optional_count(request, "bytes_per_sec", high=checks.SIZE_BYTES_MAX)
    job = server.transactions.write(
        lambda tx: rewrite_jobs.change(tx, job_id, state, tasks_max, bytes_per_sec)
    )
    return pb.UpdateRewriteJobResponse(rewrite=_message(job))


def list_rewrite_jobs(
    server: ServerParts, request: pb.ListRewriteJobsRequest
) -> pb.ListRewriteJobsResponse:
    """List rewrites with their progress."""
    dataset_id = checks.filter_uuid(request, "dataset_id")
    most = checks.limit(request.limit, default=JOBS_DEFAULT, most=JOBS_LISTED_MAX)
    jobs = server.transactions.read(lambda tx: rewrite_jobs.list_newest(tx, dataset_id, most))
    return pb.ListRewriteJobsResponse(rewrites=map(_message, jobs))


def get_segment_formats(
    server: ServerParts, request: pb.GetSegmentFormatsRequest
) -> pb.GetSegmentFormatsResponse:
    """Count the live segments of a dataset by format."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    counts = server.transactions.read(lambda tx: rewrite_jobs.count_formats(tx, dataset_id))
    return pb.GetSegmentFormatsResponse(
        formats=[filled(pb.SegmentFormatCount, count) for count in counts]
    )


def _message(job: RewriteJobRow) -> pb.RewriteJob:
    time_range = None
    if job.start_ns is not None and job.end_ns is not None:
        time_range = common_pb2.TimeRange(start_time=job.start_ns, end_time=job.end_ns)
    return filled(pb.RewriteJob, job, time_range=time_range)
