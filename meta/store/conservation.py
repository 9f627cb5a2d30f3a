"""Conservation: a registration holds no more events than its baby segments hold records."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy import text

from meta import metrics
from meta.errors import ExcessEvents
from meta.store import audit, datasets, excess_allowances, pg_arrays
from meta.store.engine import Transaction
from meta.store.stream_datasets import EntryMove

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RecordBound:
    """The most events that a registration's moves can bring to its dataset.

    `is_exact`: every baby segment is stamped and counted, so more events are invented ones. Without
    it a count may be missing, and the bound is evidence only.
    """

    records: int
    is_exact: bool


# A baby without stamps may hold records of any dataset.
_RECORDS = text("""
    SELECT n, count(b."offset") AS babies,
           bool_and(coalesce(b.size_bytes = 0 OR (b.dataset_ids IS NOT NULL AND b.num_records > 0),
                             false)) AS is_counted,
           coalesce(sum(b.num_records) FILTER (
             WHERE b.dataset_ids IS NULL OR d = ANY(b.dataset_ids)), 0)::bigint AS records
    FROM unnest(cast(:numbers AS bigint[]), cast(:streams AS uuid[]), cast(:datasets AS uuid[]),
                cast(:starts AS bigint[]), cast(:ends AS bigint[])) AS move (n, s, d, a, e)
         LEFT JOIN baby_segments b ON b.stream_id = s AND b."offset" >= a AND b."offset" <= e
    GROUP BY n
""")


def bounds(tx: Transaction, calls: Sequence[Sequence[EntryMove]]) -> Mapping[int, RecordBound]:
    """The bound of each call by its index; calls whose baby rows are not all there have none."""
    moves = [(number, move) for number, call in enumerate(calls) for move in call]
    if not moves:
        return {}
    values = {
        "numbers": pg_arrays.numbers([number for number, _ in moves]),
        "streams": pg_arrays.uuids([move.stream_id for _, move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for _, move in moves]),
        "starts": pg_arrays.numbers([move.offsets.start for _, move in moves]),
        "ends": pg_arrays.numbers([move.offsets.end for _, move in moves]),
    }
    spans = [sum(move.offsets.num_offsets for move in call) for call in calls]
    return {
        row.n: RecordBound(row.records, row.is_counted)
        for row in tx.execute(_RECORDS, values)
        if row.babies == spans[row.n]
    }


def refusal(
    tx: Transaction, dataset_id: UUID, events: int, bound: RecordBound | None
) -> ExcessEvents | None:
    """The refusal of a call that is in order otherwise; None = its events are within the bound.

    Excess is refused where it is certain and no operator allows it, else it is counted.
    """
    if bound is None or events <= bound.records:
        return None
    excess = events - bound.records
    if not bound.is_exact:
        metrics.REGISTRATION_EXCESS_EVENTS.inc(excess)
        return None
    left = excess_allowances.take(tx, dataset_id, excess)
    if left is None:
        name = datasets.get(tx, dataset_id).name
        return ExcessEvents(
            f"the segments hold {events} events, their baby segments {bound.records} records: if a"
            f" collector counted too few, `segplane datasets settings {shlex.quote(name)}"
            f" --excess-events {excess}` lets them in",
            dataset_id=dataset_id,
            excess_events=excess,
        )
    _note_allowed(tx, dataset_id, excess, left)
    return None


def _note_allowed(tx: Transaction, dataset_id: UUID, excess: int, left: int) -> None:
    detail = f"{excess} excess events of the {excess + left} allowed"
    audit.note(tx, "RegisterMergedSegment", dataset_id, detail)
    metrics.ALLOWED_EXCESS_EVENTS.inc(excess)
    log.warning("excess_events_allowed", dataset_id=str(dataset_id), events=excess, left=left)
