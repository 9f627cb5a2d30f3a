"""Recounts of the statistics of a dataset, and repairs that follow from the rows alone."""

from dataclasses import astuple, dataclass, fields, replace
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import call_scope
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_tasks
from meta.store.merging.merge_tasks import TaskState
from meta.store.segments import stats
from meta.store.segments.stats import Change, DatasetTotals

ROWS_AT_ONCE = 10_000
# Two repairs of a dataset at once would both add the drift. The number is of this lock alone.
_LOCK_FAMILY = 1_937_007_982


@dataclass(frozen=True, slots=True)
class KeptStatistics:
    """A dataset, deleted or not, with its maintained counters."""

    key: int
    dataset_id: UUID
    records_counted: bool
    totals: DatasetTotals

    def equals(self, counted: DatasetTotals) -> bool:
        """Return true if a recount is right; records that were never counted are not compared."""
        if not self.records_counted:
            counted = replace(counted, live_records=self.totals.live_records)
        return counted == self.totals


_COLUMNS = ", ".join(f"k.{field.name}" for field in fields(DatasetTotals))
_NEXT = text(f"""
    SELECT d.key, d.id, k.records_counted, {_COLUMNS}
    FROM dataset_stats k JOIN datasets d ON d.key = k.dataset_key
    WHERE k.dataset_key > :after ORDER BY k.dataset_key LIMIT 1
""")  # noqa: S608
_COUNTS = """
    count(*) FILTER (WHERE tombstone_version IS NULL) AS live,
    coalesce(sum(size_bytes) FILTER (WHERE tombstone_version IS NULL), 0) AS size,
    coalesce(sum(compressed_size_bytes) FILTER (WHERE tombstone_version IS NULL), 0) AS compressed,
    count(*) AS every,
    coalesce(sum(number_of_events) FILTER (WHERE tombstone_version IS NULL), 0) AS records
"""
_SEGMENTS = text(f"""
    WITH page AS MATERIALIZED (
        SELECT dur_class, start_ns, id, tombstone_version, size_bytes, compressed_size_bytes,
               number_of_events
        FROM segments
        WHERE dataset_key = :key AND (dur_class, start_ns, id) > (:dur_class, :start_ns, :id)
        ORDER BY dur_class, start_ns, id LIMIT :most)
    SELECT c.*, l.dur_class, l.start_ns, l.id
    FROM (SELECT {_COUNTS} FROM page) c
         LEFT JOIN LATERAL (SELECT dur_class, start_ns, id FROM page
                            ORDER BY dur_class DESC, start_ns DESC, id DESC LIMIT 1) l ON true
""")  # noqa: S608
_TASKS = text("""
    SELECT id FROM merge_tasks WHERE dataset_key = :key AND state = 1 AND id > :after
    ORDER BY id LIMIT :most
""")
_KEY = text("SELECT key FROM datasets WHERE id = :dataset")
_LOCK = text("SELECT pg_advisory_xact_lock(:family, :key)")
# One statement, because one snapshot must show both. Nothing that others wait for is held.
_DRIFT = text(f"""
    SELECT c.live - k.live_segments, c.size - k.live_size_bytes,
           c.compressed - k.live_compressed_size_bytes, c.every - k.all_segments,
           (SELECT count(*) FROM merge_tasks WHERE dataset_key = :key AND state = 1) - k.open_tasks,
           c.records - k.live_records
    FROM dataset_stats k
         CROSS JOIN (SELECT {_COUNTS} FROM segments WHERE dataset_key = :key) c
    WHERE k.dataset_key = :key
""")  # noqa: S608
# Nobody waits for it.
_PATIENCE = text("SET LOCAL statement_timeout = '30min'")


def next_dataset(tx: Transaction, after_key: int) -> KeptStatistics | None:
    """The maintained counters of the next dataset; None after the last one."""
    row = tx.execute(_NEXT, {"after": after_key}).one_or_none()
    return None if row is None else KeptStatistics(row[0], row[1], row[2], DatasetTotals(*row[3:]))


def count(tx: Transaction, dataset_key: int, rows_at_once: int = ROWS_AT_ONCE) -> DatasetTotals:
    """Recount a dataset in pages of one snapshot: the transaction is a read."""
    sums = [0, 0, 0, 0, 0]
    behind = {"dur_class": -1, "start_ns": 0, "id": UUID(int=0)}
    page_rows = rows_at_once
    while page_rows == rows_at_once:
        call_scope.check_caller()
        values = {"key": dataset_key, "most": rows_at_once, **behind}
        *counts, dur_class, start_ns, segment_id = tx.execute(_SEGMENTS, values).one()
        sums = [total + int(counted) for total, counted in zip(sums, counts, strict=True)]
        page_rows = counts[3]
        behind = {"dur_class": dur_class, "start_ns": start_ns, "id": segment_id}
    live, size, compressed, every, records = sums
    open_tasks = _count_tasks(tx, dataset_key, rows_at_once)
    return DatasetTotals(live, size, compressed, every, open_tasks, records)


def store(tx: Transaction, dataset_id: UUID) -> bool:
    """Add the missing counts; false if the counters were right, or there is no such dataset.

    Counts that other calls add at the same time stay: their rows are in their own transactions.
    """
    key = tx.execute(_KEY, {"dataset": dataset_id}).scalar_one_or_none()
    if key is None:
        return False
    take_turns(tx, key)
    drift = tx.execute(_DRIFT, {"key": key}).one_or_none()
    if drift is None or not any(drift):
        return False
    stats.add(tx, [Change(key, *map(int, drift))])
    return True


def take_turns(tx: Transaction, dataset_key: int) -> None:
    """Wait until no other recount of a dataset runs, then take the time that it needs."""
    tx.execute(_LOCK, {"family": _LOCK_FAMILY, "key": dataset_key})
    tx.execute(_PATIENCE)


def describe(totals: DatasetTotals) -> str:
    """The six figures as text."""
    live, size, compressed, every, tasks, records = astuple(totals)
    return (
        f"{live} segments of {size} bytes, {compressed} compressed, {every} with tombstones,"
        f" {tasks} open tasks, {records} records"
    )


def _count_tasks(tx: Transaction, dataset_key: int, rows_at_once: int) -> int:
    total, last_id = 0, UUID(int=0)
    while True:
        values = {"key": dataset_key, "after": last_id, "most": rows_at_once}
        ids = tx.execute(_TASKS, values).scalars().all()
        total += len(ids)
        if len(ids) < rows_at_once:
            return total
        last_id = ids[-1]


_HAS_DEAD_INPUT = text("""
    SELECT EXISTS (SELECT FROM merge_task_inputs i LEFT JOIN segments s ON s.id = i.segment_id
                   WHERE i.task_id = :task AND (s.id IS NULL OR s.tombstone_version IS NOT NULL))
""")


def cancel_dead_task(tx: Transaction, task_id: UUID) -> bool:
    """Cancel an open task that has an input which is not live; false if there is none."""
    task = merge_tasks.lock(tx, task_id)
    if task is None or task.state != TaskState.OPEN:
        return False
    if not tx.execute(_HAS_DEAD_INPUT, {"task": task_id}).scalar_one():
        return False
    stats.add(tx, merge_tasks.cancel(tx, [task]))
    return True
