"""Identities of events: claimed by the registration that makes their rows visible, and once only.

An identity is a keyed hash of 16 bytes. It is looked up in all days that are retained, because an
event that is sent again may come with another time, and is kept with the day of its own event.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration.identity_runs import FIRST_DAY, TODAY
from meta.store.tables.identities import SLOTS
from segments.event_identity import HASH_BYTES, EventWindow

# Days of the longest window. With tomorrow they have a table of pages each, and one is spare.
WINDOW_DAYS_MAX = 30
# A key of AES. Datasets of before have one of 32 bytes, for BLAKE2b, which takes ten times as long.
SECRET_BYTES = 16
# An event of a sender whose clock is ahead may be of tomorrow.
_DAYS = f"{FIRST_DAY.format(days='days')} AS first, {TODAY} + 1 AS last"
_LOCK = text(f"""
    SELECT {_DAYS}, key, refuses_outside
    FROM dataset_identities WHERE dataset_key = :dataset FOR UPDATE
""")  # noqa: S608
_REFUSED_OUTSIDE = text(f"""
    SELECT dataset_key, {_DAYS} FROM dataset_identities
    WHERE dataset_key = ANY(cast(:datasets AS integer[])) AND refuses_outside
""")  # noqa: S608
_KEEP = text("""
    INSERT INTO dataset_identities (dataset_key, days, key, refuses_outside)
    VALUES (:dataset, :days, :key, :refuses)
    ON CONFLICT (dataset_key) DO UPDATE
    SET days = excluded.days, key = coalesce(nullif(excluded.key, ''), dataset_identities.key),
        refuses_outside = excluded.refuses_outside
""")
_END = text("DELETE FROM dataset_identities WHERE dataset_key = :dataset")
_RETAINED = text(
    "SELECT days, refuses_outside FROM dataset_identities WHERE dataset_key = :dataset"
)
_ADD_REPEATS = text("""
    INSERT INTO dataset_repeats (dataset_key, records) VALUES (:dataset, :records)
    ON CONFLICT (dataset_key) DO UPDATE SET records = dataset_repeats.records + excluded.records
""")
_REPEATS = text(
    "SELECT coalesce((SELECT records FROM dataset_repeats WHERE dataset_key = :dataset), 0)"
)
_ALL_REPEATS = text("SELECT coalesce(sum(records), 0)::bigint FROM dataset_repeats")


@dataclass(frozen=True, slots=True)
class DayIdentities:
    """Hashes of the identities of events of one day since the epoch, one after the other."""

    day: int
    hashes: bytes

    @property
    def number(self) -> int:
        """The number of its identities."""
        return len(self.hashes) // HASH_BYTES


@dataclass(frozen=True, slots=True)
class RetainedDays:
    """The days for which identities are retained, and whether events of others are refused."""

    days: int
    refuses_outside: bool = False


@dataclass(slots=True)
class IdentityWindow:
    """The days of which a dataset retains identities, for one transaction: `first` to `last`."""

    dataset_key: int
    first: int
    last: int
    key: bytes = field(default=b"", repr=False)
    refuses_outside: bool = False

    def has(self, day: int) -> bool:
        """Whether a day is in it."""
        return self.first <= day <= self.last


def lock_window(tx: Transaction, dataset_key: int) -> IdentityWindow | None:
    """Lock a dataset's claims until the commit; None = its events have no identity.

    After the locks of streams and before those of segments: the registrations of a dataset look
    up and claim one after the other.
    """
    row = tx.execute(_LOCK, {"dataset": dataset_key}).one_or_none()
    if row is None:
        return None
    return IdentityWindow(
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
    """Retain identities for so many days from now on; another secret forgets those so far.

    The caller keeps registrations of the dataset away.
    """
    values = {"days": retained.days, "refuses": retained.refuses_outside}
    tx.execute(_KEEP, {"dataset": dataset_key, "key": secret or b"", **values})


def end(tx: Transaction, dataset_key: int) -> None:
    """Retain no identities from now on; the watch drops those so far."""
    tx.execute(_END, {"dataset": dataset_key})


def retained(tx: Transaction, dataset_key: int) -> RetainedDays:
    """The days for which identities are retained; 0 = events have none."""
    row = tx.execute(_RETAINED, {"dataset": dataset_key}).one_or_none()
    return RetainedDays(0) if row is None else RetainedDays(*row)


def add_repeats(tx: Transaction, window: IdentityWindow, records: int) -> None:
    """Add records that a registration leaves out to the ledger."""
    if records:
        tx.execute(_ADD_REPEATS, {"dataset": window.dataset_key, "records": records})


def count_repeats(tx: Transaction, dataset_key: int) -> int:
    """The records that a dataset has left out because they were rows already."""
    return int(tx.execute(_REPEATS, {"dataset": dataset_key}).scalar_one())


def count_all_repeats(tx: Transaction) -> int:
    """The records that all datasets have left out."""
    return int(tx.execute(_ALL_REPEATS).scalar_one())
