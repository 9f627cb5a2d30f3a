"""Identities of events: claimed by the registration that makes their rows visible, and once only.

An identity is a keyed hash of 16 bytes. It is looked up in all days that are retained, because an
event that is sent again may come with another time, and is kept with the day of its own event.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

from sqlalchemy import TextClause, text

from meta.store.engine.pool import Transaction
from meta.store.registration import identity_runs
from meta.store.registration.identity_runs import FIRST_DAY, OF_DAYS, PREFIX, TODAY, YOUNG
from meta.store.tables.identities import SLOTS
from segments.event_identity import HASH_BYTES

# Days of the longest window. With tomorrow they have a table of pages each, and one is spare.
WINDOW_DAYS_MAX = 30
# An event of a sender whose clock is ahead may be of tomorrow.
_LOCK = text(f"""
    SELECT {FIRST_DAY.format(days="days")} AS first, {TODAY} + 1 AS last, key
    FROM dataset_identities WHERE dataset_key = :dataset FOR UPDATE
""")  # noqa: S608
_KEEP = text("""
    INSERT INTO dataset_identities (dataset_key, days, key) VALUES (:dataset, :days, :key)
    ON CONFLICT (dataset_key) DO UPDATE
    SET days = excluded.days, key = coalesce(nullif(excluded.key, ''), dataset_identities.key)
""")
_END = text("DELETE FROM dataset_identities WHERE dataset_key = :dataset")
_DAYS = text(
    "SELECT coalesce((SELECT days FROM dataset_identities WHERE dataset_key = :dataset), 0)"
)
_ADD_REPEATS = text("""
    INSERT INTO dataset_repeats (dataset_key, records) VALUES (:dataset, :records)
    ON CONFLICT (dataset_key) DO UPDATE SET records = dataset_repeats.records + excluded.records
""")
_REPEATS = text(
    "SELECT coalesce((SELECT records FROM dataset_repeats WHERE dataset_key = :dataset), 0)"
)
_ALL_REPEATS = text("SELECT coalesce(sum(records), 0)::bigint FROM dataset_repeats")
# Hashes in order, so that neighbours are in one page. All runs are read in one snapshot with their
# pages: a merge of runs replaces both at once. OFFSET 0 keeps the planner, which does not know how
# large a run is, from reading all of it. width_bucket searches the sorted page by halves.
_GIVEN = f"""
    WITH given AS MATERIALIZED (
      SELECT h, n, {PREFIX.format("h")} AS prefix
      FROM unnest(cast(:hashes AS uuid[])) WITH ORDINALITY AS k (h, n) ORDER BY h
    )
"""  # noqa: S608
_CLAIMED = """
    SELECT n FROM identity_runs r CROSS JOIN given CROSS JOIN LATERAL (
      SELECT FROM {pages} p WHERE p.run = r.id AND p.bucket = given.prefix >> (24 - r.bits)
        AND given.h = p.hashes[width_bucket(given.h, p.hashes)] OFFSET 0) f
    WHERE r.dataset_key = :dataset AND {runs}
"""
_YOUNG = _CLAIMED.format(pages=YOUNG, runs="r.is_young AND r.day BETWEEN {first} AND {last}")


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
class IdentityWindow:
    """The days of which a dataset retains identities, from `first` to `last`."""

    dataset_key: int
    first: int
    last: int
    key: bytes = field(default=b"", repr=False)

    def keyed(self, hashes: bytes) -> bytes:
        """Hash hashes with the dataset's secret, by which they are kept."""
        starts = range(0, len(hashes), HASH_BYTES)
        own = partial(blake2b, key=self.key, digest_size=HASH_BYTES)
        return b"".join([own(hashes[at : at + HASH_BYTES]).digest() for at in starts])


def lock_window(tx: Transaction, dataset_key: int) -> IdentityWindow | None:
    """Lock a dataset's claims until the commit; None = its events have no identity.

    After the locks of streams and before those of segments: the registrations of a dataset look
    up and claim one after the other.
    """
    row = tx.execute(_LOCK, {"dataset": dataset_key}).one_or_none()
    if row is None:
        return None
    # After days without a server the window is longer than it was set.
    first = max(row.first, row.last - SLOTS + 1)
    return IdentityWindow(dataset_key, first, row.last, bytes(row.key))


def find_claimed(
    tx: Transaction, window: IdentityWindow, claims: Sequence[DayIdentities]
) -> list[int]:
    """The positions, in order, of the identities that were claimed before, over all days given."""
    hashes = b"".join([day.hashes for day in claims])
    if not hashes:
        return []
    values = {"dataset": window.dataset_key, "hashes": hash_array(window.keyed(hashes))}
    rows = tx.execute(_lookup(window), values).scalars()
    return sorted({int(number) - 1 for number in rows})


def claim(tx: Transaction, window: IdentityWindow, claims: Sequence[DayIdentities]) -> None:
    """Claim distinct identities, none of them claimed; those outside the window are not kept."""
    for day in claims:
        if window.first <= day.day <= window.last and day.hashes:
            hashes = hash_array(window.keyed(day.hashes))
            identity_runs.add(tx, window.dataset_key, day.day, hashes, day.number)


def keep(tx: Transaction, dataset_key: int, days: int, secret: bytes | None) -> None:
    """Retain identities for so many days from now on; another secret forgets those so far.

    The caller keeps registrations of the dataset away.
    """
    tx.execute(_KEEP, {"dataset": dataset_key, "days": days, "key": secret or b""})


def end(tx: Transaction, dataset_key: int) -> None:
    """Retain no identities from now on; the watch drops those so far."""
    tx.execute(_END, {"dataset": dataset_key})


def window_days(tx: Transaction, dataset_key: int) -> int:
    """The days for which identities are retained; 0 = events have none."""
    return int(tx.execute(_DAYS, {"dataset": dataset_key}).scalar_one())


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


def hash_array(hashes: bytes) -> str:
    """A uuid[] literal of hashes."""
    digits = hashes.hex()
    width = 2 * HASH_BYTES
    return "{" + ",".join([digits[i : i + width] for i in range(0, len(digits), width)]) + "}"


def _lookup(window: IdentityWindow) -> TextClause:
    """A statement over the tables of a window's days: a planner would open all of them."""
    parts = [_YOUNG.format(first=window.first, last=window.last)]
    for day in range(window.first, window.last + 1):
        runs = f"NOT r.is_young AND r.day = {day}"
        parts.append(_CLAIMED.format(pages=OF_DAYS[day % SLOTS], runs=runs))
    return text(_GIVEN + " UNION ALL ".join(parts))
