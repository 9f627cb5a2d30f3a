"""Runs of claimed deduplication keys: sorted hashes in pages, merged by size, dropped by day.

Eight young runs of a tier become one of the next tier. Once a day is over, its young runs become
one in the table of the day, which is dropped as a whole. A page holds the hashes of a run that
begin with the same bits, 112 to 224 on average, so a look-up reads one page of each run by its key.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from sqlalchemy import TextClause, text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.tables.deduplication import (
    SLOTS,
    day_deduplication_pages,
    young_deduplication_pages,
)
from meta.store.versions.clock import NOW, ago
from segments.deduplication import HASH_BYTES

# Room that merges leave in the young table is used again; those of days have none to leave.
YOUNG = young_deduplication_pages.name
OF_DAYS = tuple(table.name for table in day_deduplication_pages)
PAGE_HASHES = 224
# Runs of a tier that are merged at once, 2^3. Fewer would be merged more often; with more, more
# would be looked up.
FAN_IN = 8
TIER_MIN = 1_024
# Larger runs are not merged: 5 GB.
RUN_MAX = 256 * 1024 * 1024
# Hashes that one statement of a merge sorts, within Postgres' default of work_mem.
STEP_HASHES = 64 * 1024
BITS_MAX = 24
# Runs that servers keep filters of. A large registration reads smaller ones in order.
FILTERED_MIN = 10_000
# So many bytes of a filter for each; see `keyed_hashes`.
FILTER_BYTES = 2
# The first 24 bits of a hash.
PREFIX = (
    "((get_byte(uuid_send({0}), 0) << 16) | (get_byte(uuid_send({0}), 1) << 8)"
    " | get_byte(uuid_send({0}), 2))"
)
# Days by a clock without its steps: one that steps ahead must not end a window.
TODAY = f"floor(extract(epoch FROM {NOW}) / 86400)::int"
FIRST_DAY = f"(floor(extract(epoch FROM {ago('{days} * 86400')}) / 86400)::int + 1)"
_ADD_RUN = text("""
    INSERT INTO deduplication_runs (
      dataset_key, day, tier, bits, deduplication_keys, is_young, is_due
    )
    SELECT :dataset, :day, :tier, :bits, :deduplication_keys, :is_young, :is_young AND (
      SELECT count(*) FROM deduplication_runs WHERE dataset_key = :dataset AND day = :day
        AND tier = :tier AND is_young) >= :others
    RETURNING id, uid::text
""")
# A page of a source may reach beyond the step's part of the hashes. `ends` are the highest hashes
# that the pages of the step may have, `start` the lowest of the first one.
_MERGE = """
    WITH old AS MATERIALIZED (
      SELECT array_agg(h ORDER BY h) AS hashes FROM (
        SELECT unnest(hashes) AS h
        FROM unnest(cast(:runs AS bigint[]), cast(:run_bits AS bigint[])) AS r (id, bits)
        CROSS JOIN LATERAL (
          SELECT hashes FROM {young} p WHERE p.run = r.id
            AND p.bucket BETWEEN :low >> (24 - r.bits)::int AND :high >> (24 - r.bits)::int
          OFFSET 0) p) h
      WHERE h BETWEEN cast(:start AS uuid) AND cast(:end AS uuid)
    )
    INSERT INTO {pages} (run, bucket, hashes)
    SELECT :run, :bucket + page - 1, hashes[low + 1:high] FROM (
      SELECT hashes, page, width_bucket("end", hashes) AS high,
        coalesce(width_bucket((cast(:ends AS uuid[]))[page - 1], hashes), 0) AS low
      FROM old CROSS JOIN unnest(cast(:ends AS uuid[])) WITH ORDINALITY AS k ("end", page)
      OFFSET 0) c
    WHERE high > low
"""
_DUE = text("""
    SELECT dataset_key, day, tier FROM deduplication_runs WHERE is_due
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
""")
# Done once for each day: later its young runs are those of late events, and stay few.
_OVER = text(f"""
    SELECT dataset_key, day, max(tier) AS tier FROM deduplication_runs
    WHERE day < {TODAY}
    GROUP BY dataset_key, day HAVING bool_and(is_young) AND sum(deduplication_keys) <= :largest
    ORDER BY day, dataset_key LIMIT 1
""")  # noqa: S608
_TAKE = text("""
    SELECT id, bits, deduplication_keys FROM deduplication_runs
    WHERE dataset_key = :dataset AND day = :day AND tier <= :tier AND is_young
    ORDER BY id FOR UPDATE SKIP LOCKED
""")
_REMOVE_RUNS = text("DELETE FROM deduplication_runs WHERE id = ANY(cast(:runs AS bigint[]))")
_NOT_DUE = text(
    "UPDATE deduplication_runs SET is_due = false WHERE id = ANY(cast(:runs AS bigint[]))"
)
_REMOVE_PAGES = "DELETE FROM {pages} WHERE run = ANY(cast(:runs AS bigint[]))"
EXPIRED_MAX = 1_000
_EXPIRE = text(f"""
    DELETE FROM deduplication_runs WHERE id IN (
      SELECT r.id FROM deduplication_runs r LEFT JOIN dataset_deduplication i USING (dataset_key)
        LEFT JOIN datasets d ON d.key = r.dataset_key
      WHERE i.dataset_key IS NULL OR d.purged_at IS NOT NULL
        OR r.day < {FIRST_DAY.format(days="i.days")}
      ORDER BY r.id LIMIT :most FOR UPDATE OF r SKIP LOCKED)
    RETURNING id, day, is_young
""")  # noqa: S608
# Smaller runs first: each filter spares the same look-ups.
_LARGE = text("""
    SELECT r.uid::text AS uid, r.id, r.dataset_key, r.day, r.bits, r.deduplication_keys, r.is_young
    FROM deduplication_runs r JOIN dataset_deduplication USING (dataset_key)
    WHERE r.deduplication_keys >= :least ORDER BY r.deduplication_keys, r.id LIMIT :most
""")
_EMPTY = text("SELECT meta_empty_deduplication_pages(:slot)")


@dataclass(frozen=True, slots=True)
class LargeRun:
    """A run that is worth a filter, in pages of its first `bits` bits."""

    uid: str
    id: int
    dataset_key: int
    day: int
    bits: int
    deduplication_keys: int
    is_young: bool

    @property
    def table(self) -> str:
        """The table of its pages."""
        return YOUNG if self.is_young else OF_DAYS[self.day % SLOTS]


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """A merge that was made: how many runs became one, and its deduplication keys."""

    runs: int
    deduplication_keys: int


def merge_due(tx: Transaction) -> MergedRuns | None:
    """Merge the young runs of a tier that is full, and the smaller ones of the day; None = no such.

    Registrations wait for nothing of it, and look up the former runs until it commits.
    """
    due = tx.execute(_DUE).one_or_none()
    return None if due is None else _merge(tx, *due, runs_min=FAN_IN)


def merge_over(tx: Transaction) -> MergedRuns | None:
    """Merge the runs of a day that is over into the table of the day; None = there is none."""
    over = tx.execute(_OVER, {"largest": RUN_MAX}).one_or_none()
    return None if over is None else _merge(tx, *over, runs_min=1, is_young=False)


def _merge(
    tx: Transaction,
    dataset_key: int,
    day: int,
    tier: int,
    *,
    runs_min: int,
    is_young: bool = True,
) -> MergedRuns:
    """Merge young runs up to a tier, unless another server does or they are too large."""
    rows = tx.execute(_TAKE, {"dataset": dataset_key, "day": day, "tier": tier}).all()
    deduplication_keys = sum(row.deduplication_keys for row in rows)
    runs = pg_arrays.numbers([row.id for row in rows])
    if len(rows) < runs_min or deduplication_keys > RUN_MAX:
        tx.execute(_NOT_DUE, {"runs": runs})
        return MergedRuns(0, 0)
    # Removed before the new run is added, because that counts the runs of its tier.
    tx.execute(_REMOVE_RUNS, {"runs": runs})
    run, _, bits = add_run(tx, dataset_key, day, deduplication_keys, is_young=is_young)
    values = {"run": run, "runs": runs, "run_bits": pg_arrays.numbers([row.bits for row in rows])}
    steps = min(1 << bits, -(-deduplication_keys // STEP_HASHES))
    merge = _statement(_MERGE, YOUNG if is_young else OF_DAYS[day % SLOTS])
    for first, end in pairwise([(step << bits) // steps for step in range(steps + 1)]):
        tx.execute(merge, values | _step(range(first, end), bits))
    tx.execute(_statement(_REMOVE_PAGES, YOUNG), {"runs": runs})
    return MergedRuns(len(rows), deduplication_keys)


def expire(tx: Transaction) -> int:
    """Drop runs of days before their dataset's window; returns their number, EXPIRED_MAX at most.

    The table of a day of which no run is left is emptied as a whole.
    """
    expired = tx.execute(_EXPIRE, {"most": EXPIRED_MAX}).all()
    runs_by_table: dict[str, list[int]] = {}
    for run, day, is_young in expired:
        table = YOUNG if is_young else OF_DAYS[day % SLOTS]
        runs_by_table.setdefault(table, []).append(run)
    for table, runs in sorted(runs_by_table.items()):
        slot = OF_DAYS.index(table) if table in OF_DAYS else None
        if slot is None or not tx.execute(_EMPTY, {"slot": slot}).scalar_one():
            values = {"runs": pg_arrays.numbers(runs)}
            tx.execute(_statement(_REMOVE_PAGES, table), values)
    return len(expired)


def list_large(tx: Transaction, filter_bytes_max: int) -> list[LargeRun]:
    """The runs whose filters have room together, the smallest first."""
    most = filter_bytes_max // (FILTER_BYTES * FILTERED_MIN)
    rows = tx.execute(_LARGE, {"least": FILTERED_MIN, "most": most})
    runs = [LargeRun(*row) for row in rows]
    sizes = accumulate(FILTER_BYTES * run.deduplication_keys for run in runs)
    return runs[: sum(size <= filter_bytes_max for size in sizes)]


def _step(buckets: range, bits: int) -> dict[str, object]:
    """The values of the step of a merge that writes these pages."""
    ends = _page_ends(buckets, bits)
    return {
        "bucket": buckets.start,
        "low": buckets.start << (BITS_MAX - bits),
        "high": (buckets.stop << (BITS_MAX - bits)) - 1,
        "start": (buckets.start << (8 * HASH_BYTES - bits)).to_bytes(HASH_BYTES).hex(),
        "end": ends[-1].hex(),
        "ends": pg_arrays.Uuids(b"".join(ends)),
    }


def _page_ends(buckets: Iterable[int], bits: int) -> list[bytes]:
    """The highest hashes that pages of a run may have."""
    room = 8 * HASH_BYTES - bits
    return [(((bucket + 1) << room) - 1).to_bytes(HASH_BYTES) for bucket in buckets]


def add_run(
    tx: Transaction, dataset_key: int, day: int, deduplication_keys: int, *, is_young: bool
) -> tuple[int, str, int]:
    """Add the row of a run; returns its id, its `uid` and the bits of its pages."""
    bits = min(BITS_MAX, max(0, (deduplication_keys - 1) // PAGE_HASHES).bit_length())
    values = {
        "dataset": dataset_key,
        "day": day,
        "tier": max(0, (deduplication_keys // TIER_MIN).bit_length() - 1) // 3,
        "bits": bits,
        "deduplication_keys": deduplication_keys,
        "is_young": is_young,
        "others": FAN_IN - 1,
    }
    run, uid = tx.execute(_ADD_RUN, values).one()
    return run, uid, bits


# The statements are few: one of each kind for each table.
@lru_cache(maxsize=4 * SLOTS)
def _statement(pattern: str, table: str) -> TextClause:
    return text(pattern.format(pages=table, young=YOUNG))
