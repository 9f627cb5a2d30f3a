"""Rewrites as jobs: a dataset's segments are written again, a few tasks at a time.

A job is one row. The server advances it: tasks that ended are counted, and as many are created as
may be open, each over one segment, in the order of creation. Segments that an open merge has are
left to it; once the rest is done the job looks again, so a merge that failed loses nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from sqlalchemy import text

from meta.errors import NotFound, RewriteUnfinished
from meta.store.access import audit
from meta.store.catalog import datasets, shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_planning, merge_tasks
from meta.store.segments import stats
from meta.store.versions import versions
from segments.facts.exact_bounds import LAST_BYTES
from segments.keys import FOLDER
from segments.location import DEFAULT_STORE

JOBS_LISTED_MAX = 1_000


class JobState(IntEnum):
    """State of a job; only a running one creates tasks."""

    RUNNING = 1
    PAUSED = 2
    DONE = 3
    CANCELLED = 4


@dataclass(frozen=True, slots=True)
class NewRewriteJob:
    """A job to create. Segments known to have `format_version` are skipped, None: no format is.

    With `inexact_bounds`, so are those with exact bounds.
    With a `store` ("" is the default one) it moves the dataset there: new segments go to it, and
    segments of any version that are elsewhere take part.

    Only segments with events in [start_ns, end_ns) take part; None: no bound. At most `tasks_max`
    tasks are open at a time, and `bytes_per_sec` (None: no limit) bounds the bytes they read.
    """

    id: UUID
    dataset_id: UUID
    format_version: int | None
    start_ns: int | None
    end_ns: int | None
    tasks_max: int
    bytes_per_sec: int | None
    store: str | None = None
    inexact_bounds: bool = False


@dataclass(frozen=True, slots=True)
class RewriteJobRow:
    """A job with its progress: segments and compressed bytes, at its start and done so far."""

    id: UUID
    dataset_id: UUID
    dataset_name: str
    state: int
    format_version: int | None
    start_ns: int | None
    end_ns: int | None
    tasks_max: int
    bytes_per_sec: int | None
    segments_total: int
    bytes_total: int
    segments_done: int
    bytes_done: int
    active_ms: int
    created_at: datetime
    finished_at: datetime | None
    open_tasks: int
    store: str | None
    inexact_bounds: bool

    @property
    def secs_left(self) -> int | None:
        """Seconds that the rest takes at the speed so far; None while there is no speed."""
        if self.state != JobState.RUNNING or not self.bytes_done:
            return None
        bytes_left = max(0, self.bytes_total - self.bytes_done)
        return bytes_left * self.active_ms // self.bytes_done // 1_000


_LIVE = "s.dataset_key = :key AND s.tombstone_version IS NULL AND s.quarantined_at IS NULL"
# Segments that a job rewrites, whether they are in an open task or not; and those that it moves.
MATCHES = f"""
    {_LIVE} AND s.created_at <= :created_at AND s.created_version <= :version
    AND (cast(:format_version AS int) IS NULL
         OR s.format_version IS DISTINCT FROM cast(:format_version AS int))
    AND (NOT cast(:inexact_bounds AS boolean)
         OR substring(s.message FROM length(s.message) - {len(LAST_BYTES) - 1})
            IS DISTINCT FROM '\\x{LAST_BYTES.hex()}')
    AND (cast(:start_ns AS bigint) IS NULL OR s.end_ns >= :start_ns)
    AND (cast(:end_ns AS bigint) IS NULL OR s.start_ns < :end_ns
         OR cast(:end_ns AS bigint) = 9223372036854775807)
"""
IS_ELSEWHERE = f"""
    {_LIVE}
    AND coalesce(substring(split_part(s.prefix, '/', 4) FROM '^{FOLDER}(.*)'), '') <> :store
"""
_INSERT = text("""
    INSERT INTO rewrite_jobs (id, dataset_key, state, format_version, start_ns, end_ns, version,
                              tasks_max, bytes_per_sec, store, inexact_bounds, created_at, due_at,
                              advanced_at)
    SELECT :id, :key, 1, :format_version, :start_ns, :end_ns, version, :tasks_max, :bytes_per_sec,
           :store, :inexact_bounds, now, now, now
    FROM meta_state, (SELECT clock_timestamp() AS now) AS clock
    ON CONFLICT DO NOTHING
    RETURNING dataset_key AS key, created_at, version, format_version, start_ns, end_ns, store,
              inexact_bounds
""")
_COUNT, _COUNT_ELSEWHERE = (
    text(
        "SELECT count(*) AS segments, coalesce(sum(s.compressed_size_bytes), 0)::bigint AS bytes"  # noqa: S608
        f" FROM segments s WHERE {condition}"
    )
    for condition in (MATCHES, IS_ELSEWHERE)
)
_SET_TOTAL = text(
    "UPDATE rewrite_jobs SET total_segments = :segments, total_bytes = :bytes WHERE id = :id"
)
_DATASET = scope.statement(
    "SELECT key FROM datasets WHERE id = :dataset AND deleted_at IS NULL"  # noqa: S608
    f" AND {scope.reaches('datasets')}"
)
_COMPUTED = {
    "dataset_id": "d.id",
    "dataset_name": shown_names.of("d"),
    "segments_total": "j.total_segments",
    "bytes_total": "j.total_bytes",
    "segments_done": "j.done_segments",
    "bytes_done": "j.done_bytes",
    "open_tasks": "(SELECT count(*) FROM merge_tasks t WHERE t.rewrite_id = j.id AND t.state = 1)",
}
_COLUMNS = ", ".join(
    _COMPUTED.get(field.name, f"j.{field.name}") for field in fields(RewriteJobRow)
)
_ROWS = f"SELECT {_COLUMNS} FROM rewrite_jobs j JOIN datasets d ON d.key = j.dataset_key"  # noqa: S608
_GET = scope.statement(f"{_ROWS} WHERE j.id = :id AND {scope.reaches('d')}")
_LIST = scope.statement(f"""
    {_ROWS} WHERE (cast(:dataset AS uuid) IS NULL OR d.id = :dataset) AND {scope.reaches("d")}
    ORDER BY j.state > 2, j.id DESC LIMIT :most
""")
_UNFINISHED = text("SELECT id FROM rewrite_jobs WHERE dataset_key = :key AND state < 3")
_LOCK = text("SELECT state FROM rewrite_jobs WHERE id = :id FOR UPDATE")
# A pause does not count as time that the job took.
_CHANGE = text("""
    UPDATE rewrite_jobs SET
        state = :state, tasks_max = coalesce(:tasks_max, tasks_max),
        bytes_per_sec = CASE WHEN cast(:bytes_per_sec AS bigint) IS NULL THEN bytes_per_sec
                             ELSE nullif(cast(:bytes_per_sec AS bigint), 0) END,
        advanced_at = CASE WHEN state = 1 THEN advanced_at ELSE clock_timestamp() END,
        due_at = clock_timestamp(), allowance_bytes = 0,
        finished_at = CASE WHEN cast(:state AS int) = 4 THEN clock_timestamp() END
    WHERE id = :id
""")
_UNCLAIMED = text(
    "SELECT id FROM merge_tasks WHERE rewrite_id = :id AND state = 1 AND worker_id IS NULL"
    " ORDER BY id"
)
_FORMATS = text("""
    SELECT format_version, count(*) AS segments, sum(compressed_size_bytes)::bigint AS bytes
    FROM segments WHERE dataset_key = :key AND tombstone_version IS NULL
    GROUP BY format_version ORDER BY format_version NULLS FIRST LIMIT :most
""")
FORMATS_MAX = 100


@dataclass(frozen=True, slots=True)
class FormatCount:
    """Live segments of one format and their compressed bytes; None: the format is not known."""

    format_version: int | None
    segments: int
    bytes: int


def create(tx: Transaction, new: NewRewriteJob) -> RewriteJobRow:
    """Create a job, or return the one with this id; a move counts from its commit.

    Raises NotFound, RewriteUnfinished.
    """
    job = find(tx, new.id)
    if job is not None:
        return job
    key = _dataset_key(tx, new.dataset_id)
    dataset = datasets.lock_settings(tx, new.dataset_id) if new.store is not None else None
    # Alone with the planning of the dataset: the count is that of the first task's time.
    merge_planning.lock_dataset(tx, key)
    scope = tx.execute(_INSERT, {**asdict(new), "key": key}).mappings().one_or_none()
    if scope is None:
        unfinished = tx.execute(_UNFINISHED, {"key": key}).scalars().first()
        raise RewriteUnfinished(
            "another rewrite of the dataset is not finished", rewrite_id=unfinished
        )
    count = _COUNT if new.store is None else _COUNT_ELSEWHERE
    counted = tx.execute(count, dict(scope)).mappings().one()
    tx.execute(_SET_TOTAL, {"id": new.id, **counted})
    detail = f"dataset {new.dataset_id}"
    if dataset is not None and new.store is not None:
        datasets.place(tx, new.dataset_id, new.store)
        datasets.stamp(tx, new.dataset_id, versions.allocate(tx))
        detail += f", moved from {dataset.store or DEFAULT_STORE} to {new.store or DEFAULT_STORE}"
    audit.note(tx, "CreateRewriteJob", new.id, detail)
    return get(tx, new.id)


def find(tx: Transaction, job_id: UUID) -> RewriteJobRow | None:
    """The job, if there is one."""
    row = tx.execute(_GET, {"id": job_id}).one_or_none()
    return None if row is None else RewriteJobRow(*row)


def get(tx: Transaction, job_id: UUID) -> RewriteJobRow:
    """The job. Raises NotFound."""
    job = find(tx, job_id)
    if job is None:
        raise NotFound("there is no such rewrite", rewrite_id=job_id)
    return job


def list_newest(tx: Transaction, dataset_id: UUID | None, most: int) -> list[RewriteJobRow]:
    """List unfinished jobs, then finished ones, the newest first."""
    rows = tx.execute(_LIST, {"dataset": dataset_id, "most": most})
    return [RewriteJobRow(*row) for row in rows]


def change(
    tx: Transaction,
    job_id: UUID,
    state: JobState | None,
    tasks_max: int | None,
    bytes_per_sec: int | None,
) -> RewriteJobRow:
    """Pause, resume, cancel or bound a job; 0 `bytes_per_sec` lifts the limit, None keeps values.

    A finished job stays as it is. Tasks that a worker has are finished; when a job is cancelled its
    other tasks are as well. Raises NotFound.
    """
    current = tx.execute(_LOCK, {"id": job_id}).scalar_one_or_none()
    if current is None:
        raise NotFound("there is no such rewrite", rewrite_id=job_id)
    is_over = current in (JobState.DONE, JobState.CANCELLED)
    # A read must not reschedule the job or reset its byte budget.
    if is_over or (state, tasks_max, bytes_per_sec) == (None, None, None):
        return get(tx, job_id)
    new_state = JobState(current) if state is None else state
    values = {"id": job_id, "state": int(new_state), "tasks_max": tasks_max}
    tx.execute(_CHANGE, {**values, "bytes_per_sec": bytes_per_sec})
    if new_state != current:
        audit.note(tx, "UpdateRewriteJob", job_id, new_state.name.lower())
    if new_state is JobState.CANCELLED:
        cancel_unclaimed(tx, job_id)
    return get(tx, job_id)


def cancel_unclaimed(tx: Transaction, job_id: UUID) -> None:
    """Cancel a job's tasks that no worker has.

    Changes the dataset's counters, so nothing that waits for a lock may follow.
    """
    tasks = []
    for task_id in list(tx.execute(_UNCLAIMED, {"id": job_id}).scalars()):
        task = merge_tasks.lock(tx, task_id)
        if task is not None and task.state == merge_tasks.TaskState.OPEN and not task.worker_id:
            tasks.append(task)
    stats.add(tx, merge_tasks.cancel(tx, tasks))


def count_formats(tx: Transaction, dataset_id: UUID) -> Sequence[FormatCount]:
    """Count a dataset's live segments by format. Raises NotFound."""
    scope.require(dataset_id)
    rows = tx.execute(_FORMATS, {"key": _dataset_key(tx, dataset_id), "most": FORMATS_MAX})
    return [FormatCount(*row) for row in rows]


def _dataset_key(tx: Transaction, dataset_id: UUID) -> int:
    key = tx.execute(_DATASET, {"dataset": dataset_id}).scalar_one_or_none()
    if key is None:
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
    return int(key)
