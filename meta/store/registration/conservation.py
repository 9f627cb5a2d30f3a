"""Conservation: a registration holds at most the events of its baby segments, plus allowances.

If a collector counted too few records, a registration is refused permanently. An operator then
allows so many events, once, and each registration takes its excess from them.
"""

import shlex
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy import text

from meta import metrics
from meta.access import AuditCaller
from meta.errors import ExcessEvents
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction

log = structlog.get_logger()
# A row of its own: planning holds the dataset's, and registrations must not wait for it.
_READ = text(
    "SELECT coalesce((SELECT events FROM excess_allowances WHERE dataset_id = :dataset), 0)"
)
_SET = text(
    "INSERT INTO excess_allowances (dataset_id, events) VALUES (:dataset, :events)"
    " ON CONFLICT (dataset_id) DO UPDATE SET events = excluded.events"
)
_REVOKE = text("DELETE FROM excess_allowances WHERE dataset_id = :dataset")
_TAKE = text(
    "UPDATE excess_allowances SET events = events - :events"
    " WHERE dataset_id = :dataset AND events >= :events RETURNING events"
)


def read_allowance(tx: Transaction, dataset_id: UUID) -> int:
    """The events that are still allowed."""
    return int(tx.execute(_READ, {"dataset": dataset_id}).scalar_one())


def set_allowance(tx: Transaction, dataset_id: UUID, events: int) -> None:
    """Allow so many events from now on; 0 revokes the rest."""
    values = {"dataset": dataset_id, "events": events}
    tx.execute(_SET if events else _REVOKE, values)


def take_allowance(tx: Transaction, dataset_id: UUID, events: int) -> int | None:
    """Take events from the allowance; returns the rest, None if it does not suffice."""
    return tx.execute(_TAKE, {"dataset": dataset_id, "events": events}).scalar_one_or_none()


@dataclass(frozen=True, slots=True)
class RecordBound:
    """The most events that a registration's moves can bring to its dataset.

    `is_exact`: every baby segment is stamped and counted, so more events are invented ones. Without
    it a count may be missing, and the bound is evidence only.
    """

    records: int
    is_exact: bool


def refusal(
    tx: Transaction, dataset_id: UUID, events: int, bound: RecordBound | None, caller: AuditCaller
) -> ExcessEvents | None:
    """The refusal of a call that is in order otherwise; None = its events are within the bound.

    Excess is refused if it is certain and no operator allows it, else it is counted. The audit log
    names `caller` as the user of the allowance.
    """
    if bound is None or events <= bound.records:
        return None
    excess = events - bound.records
    if not bound.is_exact:
        metrics.REGISTRATION_EXCESS_EVENTS.inc(excess)
        return None
    left = take_allowance(tx, dataset_id, excess)
    if left is None:
        name = datasets.get(tx, dataset_id).name
        return ExcessEvents(
            f"the segments hold {events} events, their baby segments {bound.records} records: if a"
            f" collector counted too few, `segplane datasets settings {shlex.quote(name)}"
            f" --excess-events {excess}` lets them in",
            dataset_id=dataset_id,
            excess_events=excess,
        )
    detail = f"{excess} excess events of the {excess + left} allowed"
    audit.note(tx, "RegisterMergedSegment", dataset_id, detail, caller)
    metrics.ALLOWED_EXCESS_EVENTS.inc(excess)
    log.warning("excess_events_allowed", dataset_id=str(dataset_id), events=excess, left=left)
    return None
