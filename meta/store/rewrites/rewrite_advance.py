"""Advances rewrite jobs: counts what ended and creates tasks as earlier ones end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.merging import merge_planning, merge_tasks
from meta.store.merging.merge_tasks import TaskKind
from meta.store.rewrites import rewrite_jobs
from meta.store.rewrites.rewrite_jobs import IS_ELSEWHERE, MATCHES
from meta.store.versions.clock import ago

# Pause until a job is examined again; longer while other tasks hold all that is left.
PAUSE_SECS = 1.0
WAIT_SECS = 10.0
# A longer gap is a server that was down and no time that the job took.
GAP_SECS_MAX = 60.0
# Bytes that a job with a limit may save up while it has nothing to do.
BURST_SECS = 2.0

_DUE = text("""
    SELECT id, dataset_key FROM rewrite_jobs
    WHERE state = 1 AND due_at <= clock_timestamp() ORDER BY planned_at NULLS FIRST, id LIMIT 1
""")
_LOCK = text("""
    SELECT dataset_key AS key, created_at, version, format_version, start_ns, end_ns,
           inexact_bounds, tasks_max, bytes_per_sec, store, allowance_bytes, cursor_at, cursor_id,
           least(extract(epoch FROM clock_timestamp() - advanced_at), :gap)::float8 AS elapsed_secs
    FROM rewrite_jobs WHERE id = :id AND state = 1 AND due_at <= clock_timestamp() FOR UPDATE
""")
# Each ended task is counted once: it leaves the job as it is.
_ENDED = text("""
    WITH ended AS (
        UPDATE merge_tasks SET rewrite_id = NULL WHERE rewrite_id = :id AND state > 1
        RETURNING state, total_compressed_size)
    SELECT count(*) FILTER (WHERE state = 2) AS segments,
           coalesce(sum(total_compressed_size) FILTER (WHERE state = 2), 0)::bigint AS bytes
    FROM ended
""")
_OPEN = text("""
    SELECT count(*) FILTER (WHERE rewrite_id = :id) AS own, count(*) AS of_all
    FROM merge_tasks WHERE rewrite_id IS NOT NULL AND state = 1
""")
_ARE_MERGES_WAITING = text(
    "SELECT EXISTS (SELECT FROM merge_tasks"  # noqa: S608
    f" WHERE state = 1 AND free_at IS NULL AND kind = 1 AND {merge_tasks.IS_OF_LIVE})"
)
# Two statements of each: a plan for both kinds of jobs would use no index.
_NEXT, _NEXT_ELSEWHERE = (
    text(f"""
        SELECT s.id, s.created_at, s.compressed_size_bytes FROM segments s WHERE {condition}
          AND NOT EXISTS (SELECT FROM merge_task_inputs i WHERE i.segment_id = s.id)
          AND (s.created_at, s.id) > (:cursor_at, :cursor_id)
        ORDER BY s.created_at, s.id LIMIT :most
    """)  # noqa: S608
    for condition in (MATCHES, IS_ELSEWHERE)
)
_IS_ANY_LEFT, _IS_ANY_ELSEWHERE = (
    text(f"SELECT EXISTS (SELECT FROM segments s WHERE {condition})")  # noqa: S608
    for condition in (MATCHES, IS_ELSEWHERE)
)
_SAVE = text("""
    UPDATE rewrite_jobs SET
        state = :state, done_segments = done_segments + :segments, done_bytes = done_bytes + :bytes,
        active_ms = active_ms + :elapsed_ms, advanced_at = clock_timestamp(),
        due_at = clock_timestamp() + :pause_secs * interval '1 second',
        planned_at = CASE WHEN cast(:is_planned AS boolean) THEN clock_timestamp()
                          ELSE planned_at END,
        allowance_bytes = :allowance_bytes, cursor_at = :cursor_at, cursor_id = :cursor_id,
        finished_at = CASE WHEN cast(:state AS int) > 2 THEN clock_timestamp() END
    WHERE id = :id
""")
_EXPIRE = text(
    f"DELETE FROM rewrite_jobs WHERE state > 2 AND finished_at < {ago(':age')}"  # noqa: S608
)
_CURSOR_START = {"cursor_at": datetime.fromtimestamp(0, UTC), "cursor_id": UUID(int=0)}


@dataclass(frozen=True, slots=True)
class _Step:
    """Outcome of a step: the state, the place of the next segment, and when it is due."""

    cursor: Mapping[str, object]
    pause_secs: float = PAUSE_SECS
    state: rewrite_jobs.JobState = rewrite_jobs.JobState.RUNNING
    planned_bytes: int | None = None


def advance(tx: Transaction) -> bool:
    """Advance a job that is due, the one that created tasks longest ago; False if none is due."""
    due = tx.execute(_DUE).one_or_none()
    if due is None:
        return False
    # Locks follow the order of all planning: the dataset, then the job, then tasks and segments.
    is_live = merge_planning.lock_dataset(tx, due.dataset_key)
    job = tx.execute(_LOCK, {"id": due.id, "gap": GAP_SECS_MAX}).mappings().one_or_none()
    if job is None:
        return True
    ended = tx.execute(_ENDED, {"id": due.id}).mappings().one()
    allowance = _allowance(job)
    if is_live:
        step = _create_tasks(tx, due.id, job, allowance)
    else:
        step = _Step(_cursor(job), state=rewrite_jobs.JobState.CANCELLED)
    values = {
        "id": due.id,
        "state": int(step.state),
        "elapsed_ms": int(job["elapsed_secs"] * 1_000),
        "pause_secs": step.pause_secs,
        "is_planned": step.planned_bytes is not None,
        "allowance_bytes": 0 if allowance is None else allowance - (step.planned_bytes or 0),
    }
    tx.execute(_SAVE, {**values, **ended, **step.cursor})
    return True


def expire(tx: Transaction, age_secs: float) -> int:
    """Delete jobs that finished longer ago; returns how many."""
    return tx.execute(_EXPIRE, {"age": age_secs}).rowcount


def _create_tasks(
    tx: Transaction, job_id: UUID, job: Mapping[Any, Any], allowance: int | None
) -> _Step:
    opened = tx.execute(_OPEN, {"id": job_id}).one()
    room = job["tasks_max"] - opened.own
    if tx.execute(_ARE_MERGES_WAITING).scalar_one():
        # While merges wait, all rewrites together have one task, so that they take turns.
        room = min(room, 1 - opened.of_all)
    if room <= 0 or (allowance is not None and allowance <= 0):
        return _Step(_cursor(job))
    cursor = _cursor(job)
    is_move = job["store"] is not None
    find = _NEXT_ELSEWHERE if is_move else _NEXT
    rows = tx.execute(find, {**job, **cursor, "most": room}).all()
    chosen = _affordable(rows, allowance)
    if chosen:
        merge_planning.create_tasks(
            tx, [[row.id] for row in chosen], TaskKind.REWRITE, merges_added=0, rewrite_id=job_id
        )
        position = {"cursor_at": chosen[-1].created_at, "cursor_id": chosen[-1].id}
        return _Step(position, planned_bytes=sum(row.compressed_size_bytes for row in chosen))
    if cursor["cursor_id"] != UUID(int=0):
        # Inputs of a merge may be free again.
        return _Step(_CURSOR_START)
    any_left = _IS_ANY_ELSEWHERE if is_move else _IS_ANY_LEFT
    if tx.execute(any_left, dict(job)).scalar_one():
        return _Step(_CURSOR_START, PAUSE_SECS if opened.own else WAIT_SECS)
    return _Step(_CURSOR_START, state=rewrite_jobs.JobState.DONE)


def _allowance(job: Mapping[Any, Any]) -> int | None:
    """Bytes that may be planned now; None without a limit. A large segment leaves a debt."""
    per_sec: int | None = job["bytes_per_sec"]
    if per_sec is None:
        return None
    earned = int(job["allowance_bytes"]) + int(per_sec * job["elapsed_secs"])
    return min(earned, int(per_sec * BURST_SECS))


def _affordable(rows: Sequence[Any], allowance: int | None) -> Sequence[Any]:
    if allowance is None:
        return rows
    chosen = []
    for row in rows:
        if allowance <= 0:
            break
        chosen.append(row)
        allowance -= row.compressed_size_bytes
    return chosen


def _cursor(job: Mapping[Any, Any]) -> Mapping[str, object]:
    return {"cursor_at": job["cursor_at"], "cursor_id": job["cursor_id"]}
