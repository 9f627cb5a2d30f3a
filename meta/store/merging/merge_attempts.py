"""The newest attempts of merge tasks: of held tasks, and of those that were finished last."""

from dataclasses import dataclass
from uuid import UUID

from meta.store.catalog import shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

ATTEMPTS_OF_TASK_MAX = 20
ERROR_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True)
class ListedAttempt:
    """An attempt and its task; times in nanoseconds, 0 = none."""

    task_id: UUID
    dataset_id: UUID
    dataset_name: str
    is_rewrite: bool
    attempt: int
    worker_id: str
    claimed_at_nanos: int
    ended_at_nanos: int
    outcome: str
    error: str
    failed_segment_id: UUID | None
    held_until_nanos: int
    rows_done: int
    segment_count: int
    size_bytes: int


_NANOS = "coalesce((extract(epoch FROM {}) * 1000000)::bigint * 1000, 0)"
# The two indexes of tasks that are held, and that are finished.
_READ = scope.statement(f"""
    WITH tasks AS (
      (SELECT * FROM merge_tasks WHERE state = 1 AND free_at IS NOT NULL
       ORDER BY free_at DESC LIMIT :most)
      UNION ALL
      (SELECT * FROM merge_tasks WHERE state > 1 ORDER BY finished_at DESC LIMIT :most)
    )
    SELECT t.id, d.id, {shown_names.of("d")}, t.kind = 2, a.attempt, a.worker_id,
      {_NANOS.format("a.claimed_at")}, {_NANOS.format("a.ended_at")}, coalesce(a.outcome, ''),
      left(coalesce(a.error, ''), {ERROR_CHARACTERS_MAX}), a.failed_segment_id,
      CASE WHEN t.state = 1 AND t.attempt = a.attempt THEN {_NANOS.format("t.free_at")} ELSE 0 END,
      CASE WHEN a.ended_at IS NULL THEN t.rows_done ELSE 0 END,
      t.segment_count, t.total_compressed_size
    FROM tasks t CROSS JOIN LATERAL (
        SELECT * FROM merge_attempts WHERE task_id = t.id
        ORDER BY attempt DESC LIMIT {ATTEMPTS_OF_TASK_MAX}) a
      CROSS JOIN LATERAL (SELECT * FROM datasets WHERE key = t.dataset_key OFFSET 0) d
    ORDER BY a.ended_at IS NULL DESC, a.claimed_at DESC, t.id, a.attempt LIMIT :most
""")  # noqa: S608


def newest(tx: Transaction, most: int) -> list[ListedAttempt]:
    """Return the attempts that last, then the latest ones."""
    return [ListedAttempt(*row) for row in tx.execute(_READ, {"most": most})]
