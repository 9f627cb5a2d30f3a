"""Windows of deduplication: the days for which the keys of a dataset are retained.

A deduplication key is a keyed hash of 16 bytes. It is looked up in all days that are retained,
because an event that is sent again may come with another time, and is kept with the day of its own
event.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import text

from meta.store.deduplication.sorted_runs import FIRST_DAY, TODAY
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.tables.deduplication import SLOTS
from segments.deduplication import HASH_BYTES, EventWindow

# Days of the longest window. With tomorrow they have a table of pages each, and one is spare.
WINDOW_DAYS_MAX = 30
# A key of AES. Datasets of before have one of 32 bytes, for BLAKE2b, which takes ten times as long.
SECRET_BYTES = 16
# An event of a sender whose clock is ahead may be of tomorrow.
_DAYS = f"{FIRST_DAY.format(days='days')} AS first, {TODAY} + 1 AS last"
_LOCK = text(f"""
    SELECT {_DAYS}, key, refuses_outside
    FROM dataset_deduplication WHERE dataset_key = :dataset FOR UPDATE
""")  # noqa: S608
_REFUSED_OUTSIDE = text(f"""
    SELECT dataset_key, {_DAYS} FROM dataset_deduplication
    WHERE dataset_key = ANY(cast(:datasets AS integer[])) AND refuses_outside
""")  # noqa: S608
_KEEP = text("""
    INSERT INTO dataset_deduplication (dataset_key, days, key, refuses_outside)
    VALUES (:dataset, :days, :key, :refuses)
    ON CONFLICT (dataset_key) DO UPDATE
    SET days = excluded.days, key = coalesce(nullif(excluded.key, ''), dataset_deduplication.key),
        refuses_outside = excluded.refuses_outside
""")
_END = text("DELETE FROM dataset_deduplication WHERE dataset_key = :dataset")
_RETAINED = text(
    "SELECT days, refuses_outside FROM dataset_deduplication WHERE dataset_key = :dataset"
)
_ADD_DUPLICATES = text("""
    INSERT INTO dataset_duplicates (dataset_key, records) VALUES (:dataset, :records)
    ON CONFLICT (dataset_key) DO UPDATE SET records = dataset_duplicates.records + excluded.records
""")
_DUPLICATES = text(
    "SELECT coalesce((SELECT records FROM dataset_duplicates WHERE dataset_key = :dataset), 0)"
)
# The sum of bigint is numeric.
_RECORDS = text("""
    SELECT d.id,
           coalesce((SELECT sum(s.number_of_events) FROM segments s
                     WHERE s.dataset_key = d.key AND s.tombstone_version IS NULL), 0)::bigint,
           coalesce((SELECT r.records FROM dataset_duplicates r WHERE r.dataset_key = d.key), 0)
    FROM datasets d WHERE d.id = ANY(cast(:datasets AS uuid[]))
""")
_ALL_DUPLICATES = text("SELECT coalesce(sum(records), 0)::bigint FROM dataset_duplicates")


@dataclass(frozen=True, slots=True)
class DayKeys:
    """Hashes of the deduplication keys of one day since the epoch, one after the other."""

    day: int
    hashes: bytes

    @property
    def number(self) -> int:
        """The number of its deduplication keys."""
        return len(self.hashes) // HASH_BYTES


@dataclass(frozen=True, slots=True)
class RetainedDays:
    """The days for which keys are retained, and whether events of others are refused."""

    days: int
    refuses_outside: bool = False


@dataclass(slots=True)
class DeduplicationWindow:
    """The days of which a dataset retains keys, for one transaction: `first` to `last`."""

    dataset_key: int
    first: int
    last: int
    key: bytes = field(default=b"", repr=False)
    refuses_outside: bool = False

    def has(self, day: int) -> bool:
        """Whether a day is in it."""
        return self.first <= day <= self.last


def lock_window(tx: Transaction, dataset_key: int) -> DeduplicationWindow | None:
    """Lock a dataset's claims until the commit; None = its events have no deduplication key.

    After the locks of streams and before those of segments: the registrations of a dataset look
    up and claim one after the other.
    """
    row = tx.execute(_LOCK, {"dataset": dataset_key}).one_or_none()
    if row is None:
        return None
    return DeduplicationWindow(
        dataset_key, _first(row.first, row.last), row.last, bytes(row.key), row.refuses_outside
    )


def _first(first: int, last: int) -> int:
    # After days without a server the window is longer than it was set.
    return max(first, last - SLOTS + 1)


def read_refused_outside(tx: Transaction, dataset_keys: Iterable[int]) -> Mapping[int, EventWindow]:
    """Read the windows of the datasets among some that refuse events outside, by their keys."""
    keys = list(dataset_keys)
    if not keys:
        return {}
    rows = tx.execute(_REFUSED_OUTSIDE, {"datasets": pg_arrays.numbers(keys)})
    return {key: EventWindow(_first(first, last), last) for key, first, last in rows}


def keep(tx: Transaction, dataset_key: int, retained: RetainedDays, secret: bytes | None) -> None:
    """Retain deduplication keys for so many days from now on; another secret forgets those so far.

    The caller keeps registrations of the dataset away.
    """
    values = {"days": retained.days, "refuses": retained.refuses_outside}
    tx.execute(_KEEP, {"dataset": dataset_key, "key": secret or b"", **values})


def end(tx: Transaction, dataset_key: int) -> None:
    """Retain no deduplication keys from now on; the watch drops those so far."""
    tx.execute(_END, {"dataset": dataset_key})


def retained(tx: Transaction, dataset_key: int) -> RetainedDays:
    """The days for which deduplication keys are retained; 0 = events have none."""
    row = tx.execute(_RETAINED, {"dataset": dataset_key}).one_or_none()
    return RetainedDays(0) if row is None else RetainedDays(*row)


def add_duplicates(tx: Transaction, window: DeduplicationWindow, records: int) -> None:
    """Add the records that a registration omits to the ledger."""
    if records:
        tx.execute(_ADD_DUPLICATES, {"dataset": window.dataset_key, "records": records})


def count_duplicates(tx: Transaction, dataset_key: int) -> int:
    """The records that a dataset has skipped because they were rows already."""
    return int(tx.execute(_DUPLICATES, {"dataset": dataset_key}).scalar_one())


def count_records(tx: Transaction, dataset_ids: Iterable[UUID]) -> dict[UUID, tuple[int, int]]:
    """Count the rows of datasets, in all their live segments, and their duplicates."""
    counts = tx.execute(_RECORDS, {"datasets": pg_arrays.uuids(dataset_ids)})
    return {dataset_id: (rows, duplicates) for dataset_id, rows, duplicates in counts}


def count_all_duplicates(tx: Transaction) -> int:
    """The records that all datasets have skipped."""
    return int(tx.execute(_ALL_DUPLICATES).scalar_one())
