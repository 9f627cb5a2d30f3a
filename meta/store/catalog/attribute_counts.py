"""Counts of records by attribute, for the choice of automatic columns.

A registration inserts a row for a segment with counts. The choice of a dataset adds these rows to
sums by period, each named by its first hour. Counts are JSON: by signal, the number of records and,
by attribute, the records with it, with a text and with a whole number.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction

# By signal as text: records, and by attribute the records with it, with a text, with a number.
StoredCounts: TypeAlias = Mapping[str, tuple[int, Mapping[str, tuple[int, int, int]]]]
# From one choice to the next.
CHOICE_SECS = 3_600.0
# Rows that one transaction adds to the sums.
ROWS_MAX = 1_000

_INSERT = text("""
    INSERT INTO attribute_counts (id, dataset_id, hour, counts)
    SELECT new.id, d.id, floor(extract(epoch FROM clock_timestamp()) / 3600), new.counts
    FROM unnest(cast(:ids AS uuid[]), cast(:datasets AS uuid[]), cast(:counts AS jsonb[]))
           AS new (id, dataset_id, counts)
      JOIN datasets d ON d.id = new.dataset_id
    WHERE d.columns_chosen_next IS NOT NULL
""")
# Postponed at once, so that a choice that fails holds up no other. A time far ahead is one of
# before the clock stepped back.
_CLAIM = text("""
    UPDATE datasets SET columns_chosen_next = clock_timestamp() + :secs * interval '1 second'
    WHERE id = (SELECT id FROM datasets
        WHERE columns_chosen_next <= clock_timestamp()
          OR columns_chosen_next > clock_timestamp() + interval '1 day'
        ORDER BY columns_chosen_next LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING id
""")
_LOCK = text("""
    SELECT deleted_at IS NOT NULL AS is_deleted, purged_at IS NOT NULL AS is_purged,
           floor(extract(epoch FROM clock_timestamp()) / 3600)::integer AS hour
    FROM datasets WHERE id = :dataset AND columns_chosen_next IS NOT NULL FOR NO KEY UPDATE
""")
_TAKE = text("""
    DELETE FROM attribute_counts WHERE id = ANY(ARRAY(
        SELECT id FROM attribute_counts WHERE dataset_id = :dataset LIMIT :most))
    RETURNING hour, counts
""")
_READ = text("SELECT hour, counts FROM attribute_sums WHERE dataset_id = :dataset")
_READ_SOME = text("""
    SELECT hour, counts FROM attribute_sums
    WHERE dataset_id = :dataset AND hour = ANY(cast(:hours AS integer[]))
""")
_WRITE = text("""
    INSERT INTO attribute_sums (dataset_id, hour, counts)
    SELECT :dataset, hour, counts
    FROM unnest(cast(:hours AS integer[]), cast(:counts AS jsonb[])) AS new (hour, counts)
    ON CONFLICT (dataset_id, hour) DO UPDATE SET counts = excluded.counts
""")
_EXPIRE = text("""
    DELETE FROM attribute_sums WHERE dataset_id = :dataset AND NOT hour BETWEEN :first AND :last
""")
_FORGET = tuple(
    text(f"DELETE FROM {table} WHERE dataset_id = :dataset")  # noqa: S608
    for table in ("attribute_counts", "attribute_sums")
)
_SCHEDULE = text("""
    UPDATE datasets SET columns_chosen_next = clock_timestamp() + :secs * interval '1 second'
    WHERE id = :dataset
""")
_UNSCHEDULE = text("UPDATE datasets SET columns_chosen_next = NULL WHERE id = :dataset")


@dataclass(frozen=True, slots=True)
class LockedChoice:
    """A dataset whose columns meta chooses; `hour` is that of now, counted from 1970."""

    is_deleted: bool
    is_purged: bool
    hour: int


def insert(tx: Transaction, counted: Iterable[tuple[UUID, UUID, str]]) -> None:
    """Keep the counts of new segments, as JSON by segment and dataset.

    Those of datasets whose columns people choose are passed over.
    """
    rows = list(counted)
    if rows:
        values = {
            "ids": pg_arrays.uuids([segment_id for segment_id, _, _ in rows]),
            "datasets": pg_arrays.uuids([dataset_id for _, dataset_id, _ in rows]),
            "counts": pg_arrays.quoted([counts for _, _, counts in rows]),
        }
        tx.execute(_INSERT, values)


def claim_due(tx: Transaction) -> UUID | None:
    """Take a dataset that is due and that no other server takes, and let it be due again later."""
    return tx.execute(_CLAIM, {"secs": CHOICE_SECS}).scalar_one_or_none()


def lock(tx: Transaction, dataset_id: UUID) -> LockedChoice | None:
    """Lock a dataset; None if people choose its columns now."""
    row = tx.execute(_LOCK, {"dataset": dataset_id}).one_or_none()
    return None if row is None else LockedChoice(*row)


def take(tx: Transaction, dataset_id: UUID) -> list[tuple[int, StoredCounts]]:
    """Take up to ROWS_MAX counts, each with its hour."""
    return _rows(tx.execute(_TAKE, {"dataset": dataset_id, "most": ROWS_MAX}))


def read(
    tx: Transaction, dataset_id: UUID, hours: Iterable[int] | None = None
) -> dict[int, StoredCounts]:
    """The sums of a dataset by period: all, or those of some hours."""
    values: dict[str, object] = {"dataset": dataset_id}
    if hours is None:
        return dict(_rows(tx.execute(_READ, values)))
    return dict(_rows(tx.execute(_READ_SOME, {**values, "hours": pg_arrays.numbers(hours)})))


def write(tx: Transaction, dataset_id: UUID, sums: Mapping[int, StoredCounts]) -> None:
    """Replace the sums of some periods."""
    values = {
        "hours": pg_arrays.numbers(list(sums)),
        "counts": pg_arrays.quoted([json.dumps(counts) for counts in sums.values()]),
    }
    tx.execute(_WRITE, {"dataset": dataset_id, **values})


def expire(tx: Transaction, dataset_id: UUID, first: int, last: int) -> None:
    """Forget the sums of all but the hours from `first` to `last`, both included."""
    tx.execute(_EXPIRE, {"dataset": dataset_id, "first": first, "last": last})


def begin(tx: Transaction, dataset_id: UUID) -> None:
    """Let meta choose the columns of a dataset from now on; the caller holds its row."""
    tx.execute(_SCHEDULE, {"dataset": dataset_id, "secs": CHOICE_SECS})


def end(tx: Transaction, dataset_id: UUID) -> None:
    """Leave the choice to people, and forget all counts; the caller holds the dataset's row."""
    tx.execute(_UNSCHEDULE, {"dataset": dataset_id})
    for statement in _FORGET:
        tx.execute(statement, {"dataset": dataset_id})


def _rows(result: Any) -> list[tuple[int, StoredCounts]]:
    return [(hour, counts) for hour, counts in result]
