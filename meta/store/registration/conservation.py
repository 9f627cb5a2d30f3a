"""Conservation: a registration holds at most the events of its baby segments, plus allowances.

If a collector counted too few records, a registration is refused permanently. An operator then
allows so many events, once, and each registration takes its excess from them.
"""

import shlex
from uuid import UUID

import structlog
from sqlalchemy import text

from meta import metrics
from meta.errors import ExcessEvents
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.registration import deduplication
from meta.store.registration.calls import Merge
from meta.store.registration.part import Part

log = structlog.get_logger()
# Its own row: planning holds the dataset's, and registrations must not wait for it.
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


class Conservation(Part):
    """Compares the events of calls with the records of their baby segments.

    It takes from allowances, so it is the last to check.
    """

    def check(self) -> None:
        """Refuse excess that is certain and that no operator allows; other excess is counted.

        It is certain if every baby segment is stamped and counted. Without that a count may be
        missing; a call whose baby rows are not all there has no bound.
        """
        for call in self._calls:
            counts = call.counts
            spans = sum([move.offsets.num_offsets for move in call.merge.moves])
            if not call.is_open or not counts or sum([count.babies for count in counts]) != spans:
                continue
            records, events = sum([count.records for count in counts]), events_of(call.merge)
            if events <= records:
                continue
            if all(count.is_counted for count in counts):
                call.answer = _taken(self._tx, call.merge, events, records)
            else:
                metrics.REGISTRATION_EXCESS_EVENTS.inc(events - records)


def events_of(merge: Merge) -> int:
    """The records that a call accounts for: rows of its segments, and duplicates of rows."""
    rows = sum([segment.number_of_events for segment in merge.segments])
    return rows + deduplication.duplicates_of(merge)


def is_counted(merge: Merge) -> bool:
    """Whether the events of a call have to be within the records of its baby segments."""
    return bool(merge.segments or deduplication.duplicates_of(merge))


def _taken(tx: Transaction, merge: Merge, events: int, records: int) -> ExcessEvents | None:
    """Take the excess from the allowance of the dataset; the audit log names the caller."""
    dataset_id, excess = merge.dataset_id, events - records
    remaining = take_allowance(tx, dataset_id, excess)
    if remaining is None:
        name = datasets.get(tx, dataset_id).name
        return ExcessEvents(
            f"the segments hold {events} events, their baby segments {records} records: if a"
            f" collector counted too few, `segplane datasets limits {shlex.quote(name)}"
            f" --excess-events {excess}` lets them in",
            dataset_id=dataset_id,
            excess_events=excess,
        )
    detail = f"{excess} excess events of the {excess + remaining} allowed"
    audit.note(tx, "RegisterMergedSegment", dataset_id, detail, merge.caller)
    metrics.ALLOWED_EXCESS_EVENTS.inc(excess)
    log.warning("excess_events_allowed", dataset_id=str(dataset_id), events=excess, left=remaining)
    return None
