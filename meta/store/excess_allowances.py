"""Events that registrations of a dataset may hold beyond the records of their baby segments.

Where a collector counted too few records, a registration is refused for good. An operator then
allows so many events, once, and each registration takes its excess from them.
"""

from uuid import UUID

from sqlalchemy import text

from meta.store.engine import Transaction

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


def read(tx: Transaction, dataset_id: UUID) -> int:
    """The events that are still allowed."""
    return int(tx.execute(_READ, {"dataset": dataset_id}).scalar_one())


def write(tx: Transaction, dataset_id: UUID, events: int) -> None:
    """Allow so many events from now on; 0 revokes what is left."""
    values = {"dataset": dataset_id, "events": events}
    tx.execute(_SET if events else _REVOKE, values)


def take(tx: Transaction, dataset_id: UUID, events: int) -> int | None:
    """Take events from the allowance; returns what is left, None if it does not suffice."""
    return tx.execute(_TAKE, {"dataset": dataset_id, "events": events}).scalar_one_or_none()
