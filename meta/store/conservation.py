"""Conservation: a registration holds no more events than its baby segments hold records."""

import shlex
from dataclasses import dataclass
from uuid import UUID

import structlog

from meta import metrics
from meta.access import AuditCaller
from meta.errors import ExcessEvents
from meta.store import audit, datasets, excess_allowances
from meta.store.engine import Transaction

log = structlog.get_logger()


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

    Excess is refused where it is certain and no operator allows it, else it is counted. The audit
    log names `caller` as who used what is allowed.
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
    detail = f"{excess} excess events of the {excess + left} allowed"
    audit.note(tx, "RegisterMergedSegment", dataset_id, detail, caller)
    metrics.ALLOWED_EXCESS_EVENTS.inc(excess)
    log.warning("excess_events_allowed", dataset_id=str(dataset_id), events=excess, left=left)
    return None
