"""Claims of merge tasks: waiting polls claim in one statement, heartbeats renew the leases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, TextClause, Uuid, bindparam, text

from meta.store.catalog import automatic_columns, dataset_layouts
from meta.store.catalog.automatic_columns import AutomaticColumnRow
from meta.store.catalog.dataset_layouts import Layout
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_failures, merge_tasks
from meta.store.merging.merge_tasks import MergeTaskRow
from meta.store.segments import stats
from meta.store.segments.segments import ROW_COLUMNS, SegmentRow
from meta.store.versions.clock import ago
from meta.store.versions.witness_state import IS_AWAITED

# Claims of dead tasks (split, cancelled) after which a poll is answered with no task.
TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class Poll:
    """A worker that asks for a task: the smallest one, or now and then the oldest."""

    worker_id: str
    is_oldest_first: bool
    # The datasets whose tasks it takes; empty = all.
    dataset_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claimed task, its inputs by start and id, its dataset's layout and automatic columns."""

    task: MergeTaskRow
    inputs: tuple[SegmentRow, ...]
    layout: Layout
    automatic: tuple[AutomaticColumnRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Polled:
    """The answer of a poll; without a claim there was nothing to do."""

    claimed: Claimed | None


_OF_DATASET = {"dataset_id": "datasets.id AS dataset_id", "store": "datasets.store"}
_COLUMNS = ", ".join(
    _OF_DATASET.get(field.name, f"merge_tasks.{field.name}") for field in fields(MergeTaskRow)
)
_RESULT = ", ".join(field.name for field in fields(MergeTaskRow))


def _claim_statement(condition: str, order: str) -> TextClause:
    """One task per worker, as far as there are free ones that no other call is claiming."""
    return text(f"""
        WITH chosen AS MATERIALIZED (
            SELECT id, claimed_at FROM merge_tasks
            WHERE state = 1 AND {condition} AND {merge_tasks.IS_OF_LIVE}
              AND NOT {IS_AWAITED}
            ORDER BY {order} LIMIT cardinality(:workers) FOR UPDATE SKIP LOCKED
        ), placed AS MATERIALIZED (
            SELECT id, claimed_at, row_number() OVER () AS place FROM chosen
        ), claimed AS (
            UPDATE merge_tasks SET
                attempt = attempt + 1, worker_id = (:workers)[placed.place],
                claimed_at = clock_timestamp(), beat_at = NULL, rows_done = 0,
                free_at = clock_timestamp() + :lease_secs * interval '1 second'
            FROM placed, datasets
            WHERE merge_tasks.id = placed.id AND datasets.key = merge_tasks.dataset_key
            RETURNING placed.place, placed.claimed_at AS lapsed_claim_at, {_COLUMNS}
        ), noted AS (
            INSERT INTO merge_attempts (task_id, attempt, worker_id, claimed_at)
            SELECT id, attempt, worker_id, claimed_at FROM claimed
        )
        SELECT lapsed_claim_at, {_RESULT} FROM claimed ORDER BY place
    """).bindparams(bindparam("workers", type_=ARRAY(Text)))  # noqa: S608


def _statements(of: str = "") -> tuple[TextClause, dict[bool, TextClause]]:
    """The claim of a task that was held back, and of others by whether the oldest goes first."""
    # statement_timestamp(), because an index cannot be searched by the volatile clock_timestamp():
    # every claimed task would be read.
    held = _claim_statement(f"free_at < statement_timestamp(){of}", "free_at")
    smallest = _claim_statement(f"free_at IS NULL{of}", "total_compressed_size, id")
    return held, {False: smallest, True: _claim_statement(f"free_at IS NULL{of}", "id")}


_HELD, _FRESH = _statements()
# The same for a worker that takes the tasks of some datasets.
_HELD_OF_SOME, _FRESH_OF_SOME = _statements(
    " AND dataset_key IN (SELECT key FROM datasets WHERE id = ANY(cast(:datasets AS uuid[])))"
)
_COUNT_HELD = text(
    f"SELECT count(*) FROM (SELECT FROM merge_tasks WHERE state = 1 AND {merge_tasks.IS_OF_LIVE}"  # noqa: S608
    f" AND NOT {IS_AWAITED}"
    " AND free_at < statement_timestamp() ORDER BY free_at LIMIT :most) AS held"
)
_INPUTS = text(f"""
    SELECT i.task_id::text, {ROW_COLUMNS}
    FROM merge_task_inputs i JOIN segments s ON s.id = i.segment_id
        JOIN datasets d ON d.key = s.dataset_key
    WHERE i.task_id = ANY(:tasks) AND s.tombstone_version IS NULL
    ORDER BY i.task_id, s.start_ns, s.id
""").bindparams(bindparam("tasks", type_=ARRAY(Uuid)))  # noqa: S608


def claim_batch(tx: Transaction, polls: Sequence[Poll], lease_secs: float) -> list[Polled | None]:
    """Answer polls in order; None is for one that has to be answered by `claim_one`.

    Tasks that were held back go before others, and may turn out to be split. `claim_one` serves as
    many polls as there are such tasks, and all polls for some datasets only.
    """
    held = tx.execute(_COUNT_HELD, {"most": len(polls)}).scalar_one()
    answers: list[Polled | None] = [None] * held + [Polled(None)] * (len(polls) - held)
    answers = [
        None if poll.dataset_ids else answer for poll, answer in zip(polls, answers, strict=True)
    ]
    tasks: dict[int, MergeTaskRow] = {}
    for is_oldest_first in (False, True):
        poll_tasks = [
            n
            for n, poll in enumerate(polls)
            if answers[n] is not None and poll.is_oldest_first == is_oldest_first
        ]
        claims = _claim(tx, _FRESH[is_oldest_first], [polls[n] for n in poll_tasks], lease_secs)
        # There may be fewer tasks than polls.
        tasks.update(zip(poll_tasks, (task for task, _ in claims), strict=False))
    broken = []
    for number, claimed in zip(tasks, _load(tx, list(tasks.values())), strict=True):
        if _is_whole(claimed):
            answers[number] = Polled(claimed)
        else:
            answers[number] = None
            broken.append(claimed)
    # The datasets' counters are locked in one order everywhere.
    for claimed in sorted(broken, key=lambda item: item.task.dataset_key):
        _cancel(tx, claimed)
    return answers


def claim_one(tx: Transaction, poll: Poll, lease_secs: float) -> Polled:
    """Answer one poll, whatever state the tasks are in."""
    for _ in range(TRIES_MAX):
        held, fresh = (_HELD_OF_SOME, _FRESH_OF_SOME) if poll.dataset_ids else (_HELD, _FRESH)
        claims = _claim(tx, held, [poll], lease_secs) or _claim(
            tx, fresh[poll.is_oldest_first], [poll], lease_secs
        )
        if not claims:
            break
        ((task, lapsed_claim_at),) = claims
        if lapsed_claim_at and merge_failures.note_lapse(tx, task, lapsed_claim_at):
            continue
        (claimed,) = _load(tx, [task])
        if _is_whole(claimed):
            return Polled(claimed)
        _cancel(tx, claimed)
    return Polled(None)


def _claim(
    tx: Transaction, statement: TextClause, polls: Sequence[Poll], lease_secs: float
) -> list[tuple[MergeTaskRow, datetime | None]]:
    """Claim a task per poll, each with the start of its previous claim if that lease expired."""
    if not polls:
        return []
    values: dict[str, Any] = {
        "workers": [poll.worker_id for poll in polls],
        "lease_secs": lease_secs,
    }
    if polls[0].dataset_ids:
        values["datasets"] = list(polls[0].dataset_ids)
    rows: Iterable[Any] = tx.execute(statement, values).all()
    return [(MergeTaskRow(*row[1:]), row[0]) for row in rows]


def _load(tx: Transaction, tasks: Sequence[MergeTaskRow]) -> list[Claimed]:
    if not tasks:
        return []
    inputs: dict[str, list[SegmentRow]] = {}
    for task_id, *columns in tx.execute(_INPUTS, {"tasks": [task.id for task in tasks]}).all():
        inputs.setdefault(task_id, []).append(SegmentRow._make(columns))
    ids = {task.dataset_id for task in tasks}
    layouts, automatic = dataset_layouts.read(tx, ids), automatic_columns.read_written(tx, ids)
    return [
        Claimed(
            task,
            tuple(inputs.get(str(task.id), ())),
            layouts[task.dataset_id],
            automatic.get(task.dataset_id, ()),
        )
        for task in tasks
    ]


def _is_whole(claimed: Claimed) -> bool:
    return len(claimed.inputs) == claimed.task.segment_count


def _cancel(tx: Transaction, claimed: Claimed) -> None:
    """End a task that retention took an input of: no merge of the others was planned; plan again.

    Changes the dataset's counters, so nothing that waits for a lock may follow.
    """
    stats.add(tx, merge_tasks.cancel(tx, [claimed.task]))


_UNCLAIM = text("""
    UPDATE merge_tasks SET attempt = attempt + 1, worker_id = NULL, claimed_at = NULL,
        beat_at = NULL, free_at = NULL
    WHERE id = :task AND state = 1 AND worker_id IS NOT NULL
      AND greatest(claimed_at, beat_at) <= clock_timestamp() - :age_secs * interval '1 second'
    RETURNING attempt - 1
""")
# A merge reads and sorts before it writes its first row, at worst over a slow network.
STALL_SECS = 1_800
STALL_BYTES_PER_SEC = 65_536
# A claim without progress for this long ends with its lease: another worker may succeed.
_STALLED = ago(f"({STALL_SECS} + total_compressed_size / {STALL_BYTES_PER_SEC})")
_BEAT = text(f"""
    UPDATE merge_tasks SET beat_at = clock_timestamp(),
        rows_done = greatest(rows_done, :rows_done),
        progressed_at = CASE WHEN :rows_done > rows_done THEN clock_timestamp()
                             ELSE progressed_at END,
        free_at = clock_timestamp() + :lease_secs * interval '1 second'
    WHERE id = :task AND state = 1 AND worker_id IS NOT NULL
      AND (:attempt = 0 OR attempt = :attempt) AND {merge_tasks.IS_OF_LIVE}
      AND (:rows_done > rows_done OR greatest(claimed_at, progressed_at) >= {_STALLED})
""")  # noqa: S608
_ROWS_DONE = text("SELECT rows_done FROM merge_tasks WHERE id = :task")


def unclaim(tx: Transaction, task_id: UUID, age_secs: int) -> bool:
    """Revoke a claim that is old enough and raise the attempt; False if there is none."""
    attempt = tx.execute(_UNCLAIM, {"task": task_id, "age_secs": age_secs}).scalar_one_or_none()
    if attempt is None:
        return False
    merge_failures.end_attempt(tx, task_id, attempt, merge_failures.Outcome.UNCLAIMED)
    return True


def beat(
    tx: Transaction, task_id: UUID, attempt: int, *, rows_done: int, lease_secs: float
) -> bool:
    """Extend the lease of a claim (0 = the current one); False if the worker has to stop.

    It no longer holds the task, or its rows have not risen for a time that its size explains.
    """
    values = {
        "task": task_id,
        "attempt": attempt,
        "rows_done": rows_done,
        "lease_secs": lease_secs,
    }
    return tx.execute(_BEAT, values).rowcount > 0


def rows_done(tx: Transaction, task_id: UUID) -> int:
    """Rows written in the current claim, as of the last heartbeat."""
    return int(tx.execute(_ROWS_DONE, {"task": task_id}).scalar_one())
