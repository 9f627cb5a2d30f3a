"""Identities of events: claimed by the registration that makes their rows visible, and once only.

An identity is a keyed hash of 16 bytes. It is looked up in all days that are retained, because an
event that is sent again may come with another time, and is kept with the day of its own event.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import chain

from sqlalchemy import TextClause, text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration import identity_runs
from meta.store.registration.identity_runs import FIRST_DAY, OF_DAYS, PREFIX, TODAY, YOUNG
from meta.store.tables.identities import SLOTS
from segments.event_identity import HASH_BYTES, EventWindow

# Days of the longest window. With tomorrow they have a table of pages each, and one is spare.
WINDOW_DAYS_MAX = 30
# So many identities are compared with whole runs too; fewer are not worth its planning.
MANY = 256
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
# Given hashes are sorted. All runs are read in one snapshot with their pages, since a merge of runs
# replaces both at once. OFFSET 0 keeps the planner, which does not know how large a run is, from
# reading all of it. width_bucket searches a sorted array by halves, and counts what is not above.
_GIVEN = f"""
    WITH given AS MATERIALIZED (SELECT cast(:hashes AS uuid[]) AS all_hashes),
    each AS MATERIALIZED (
      SELECT h, n, {PREFIX.format("h")} AS prefix
      FROM given CROSS JOIN unnest(all_hashes) WITH ORDINALITY AS k (h, n)
    )
"""  # noqa: S608
# For a run of more pages than half the hashes: the page of each hash by its key.
_FEW = """
    SELECT f.n FROM identity_runs r CROSS JOIN LATERAL (
      SELECT n FROM each CROSS JOIN LATERAL (
        SELECT FROM {pages} p WHERE p.run = r.id AND p.bucket = each.prefix >> (24 - r.bits)
          AND each.h = p.hashes[width_bucket(each.h, p.hashes)] OFFSET 0) c OFFSET 0) f
    WHERE r.dataset_key = :dataset AND r.bits > :bits AND {runs}
"""
# For a smaller run: all its pages, and of each the hashes between its first and its last.
_MANY = """
    SELECT f.n FROM identity_runs r CROSS JOIN given CROSS JOIN LATERAL (
      SELECT n FROM (
        SELECT hashes, generate_series(
          greatest(width_bucket(hashes[1], all_hashes), 1),
          width_bucket(hashes[cardinality(hashes)], all_hashes)) AS n
        FROM {pages} p WHERE p.run = r.id OFFSET 0) c
      WHERE all_hashes[n] = hashes[width_bucket(all_hashes[n], hashes)] OFFSET 0) f
    WHERE r.dataset_key = :dataset AND r.bits <= :bits AND {runs}
"""


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
    # Hashes that were looked up are claimed next.
    _last: tuple[Sequence[DayIdentities], list[list[bytes]]] | None = field(
        default=None, init=False, repr=False
    )

    def has(self, day: int) -> bool:
        """Whether a day is in it."""
        return self.first <= day <= self.last

    def kept(self, hashes: bytes) -> list[bytes]:
        """Hash hashes with the dataset's secret, as they are kept."""
        own = partial(blake2b, key=self.key, digest_size=HASH_BYTES)
        starts = range(0, len(hashes), HASH_BYTES)
        return [own(hashes[start : start + HASH_BYTES]).digest() for start in starts]

    def ordered(self, days: Sequence[DayIdentities]) -> list[list[bytes]]:
        """The hashes of each day as they are kept, in order."""
        if self._last is None or self._last[0] is not days:
            self._last = days, [sorted(self.kept(day.hashes)) for day in days]
        return self._last[1]


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


def find_claimed(
    tx: Transaction, window: IdentityWindow, claims: Sequence[DayIdentities]
) -> list[int]:
    """The positions, in order, of the identities that were claimed before, over all days given."""
    # Days in order are merged, not sorted.
    ordered = sorted(chain.from_iterable(window.ordered(claims)))
    if not ordered:
        return []
    # To read a page in order takes 1.4 times as long as to look up the page of a hash by its key.
    bits = len(ordered).bit_length() - 2 if len(ordered) >= MANY else -1
    values = {"dataset": window.dataset_key, "hashes": pg_arrays.Uuids(ordered), "bits": bits}
    claimed = {ordered[n - 1] for n in tx.execute(_lookup(window, bits), values).scalars()}
    if not claimed:
        return []
    given = chain.from_iterable(window.kept(day.hashes) for day in claims)
    return [place for place, digest in enumerate(given) if digest in claimed]


def claim(tx: Transaction, window: IdentityWindow, claims: Sequence[DayIdentities]) -> None:
    """Claim distinct identities, none of them claimed; those outside the window are not kept."""
    for day, hashes in zip(claims, window.ordered(claims), strict=True):
        if window.has(day.day) and hashes:
            identity_runs.add(tx, window.dataset_key, day.day, hashes)


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


def _lookup(window: IdentityWindow, bits: int) -> TextClause:
    """A statement over the tables of a window's days: a planner would open all of them."""
    young = f"r.is_young AND r.day BETWEEN {window.first} AND {window.last}"
    tables = {YOUNG: young} | {
        OF_DAYS[day % SLOTS]: f"NOT r.is_young AND r.day = {day}"
        for day in range(window.first, window.last + 1)
    }
    forms = (_FEW, _MANY) if bits >= 0 else (_FEW,)
    parts = [
        form.format(pages=table, runs=runs) for form in forms for table, runs in tables.items()
    ]
    return text(_GIVEN + " UNION ALL ".join(parts))
