"""Claims of deduplication keys: the look-up in all days that are retained, and the run of new ones.

Only this module and `keyed_hashes` use numpy, which takes 0.2 s to import: servers import them once
a dataset is deduplicated.
"""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import TextClause, text

from meta.store.deduplication import keyed_hashes, run_filters, sorted_runs
from meta.store.deduplication.keyed_hashes import KeptHashes
from meta.store.deduplication.sorted_runs import OF_DAYS, PREFIX, YOUNG
from meta.store.deduplication.windows import DayKeys, DeduplicationWindow
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.tables.deduplication import SLOTS

# So many deduplication keys are compared with whole runs too; fewer are not worth its planning.
MANY = 256
_CUT = text(f"""
    INSERT INTO {YOUNG} (run, bucket, hashes)
    SELECT :run, bucket, (cast(:hashes AS uuid[]))[low + 1:high]
    FROM unnest(cast(:buckets AS integer[]), cast(:lows AS integer[]), cast(:highs AS integer[]))
      AS k (bucket, low, high)
""")  # noqa: S608
# Given hashes are sorted. All runs are read in one snapshot with their pages, since a merge of runs
# replaces both at once: a run that has taken the place of filtered ones meanwhile is not filtered.
# OFFSET 0 keeps the planner, which does not know how large a run is, from reading all of it.
# width_bucket searches a sorted array by halves, and counts what is not above.
_GIVEN = f"""
    WITH given AS MATERIALIZED (SELECT cast(:hashes AS uuid[]) AS all_hashes),
    each AS MATERIALIZED (
      SELECT h, n, {PREFIX.format("h")} AS prefix
      FROM given CROSS JOIN unnest(all_hashes) WITH ORDINALITY AS k (h, n)
    ),
    filters AS MATERIALIZED (
      SELECT uid, (cast(:passed AS integer[]))[low + 1:high] AS passed
      FROM unnest(cast(:filtered AS uuid[]), cast(:lows AS integer[]), cast(:highs AS integer[]))
        AS k (uid, low, high)
    )
"""  # noqa: S608
_HAS = """
    SELECT FROM {pages} p WHERE p.run = r.id AND p.bucket = prefix >> (24 - r.bits)
      AND h = p.hashes[width_bucket(h, p.hashes)] OFFSET 0
"""
_IS_FILTERED = "r.uid = ANY(cast(:filtered AS uuid[]))"
# For a run with a filter: the page of each hash that it may have.
_PASSED = f"""
    SELECT f.n FROM given
    CROSS JOIN (deduplication_runs r JOIN filters USING (uid)) CROSS JOIN LATERAL (
      SELECT n FROM (
        SELECT n, all_hashes[n] AS h, {PREFIX.format("all_hashes[n]")} AS prefix
        FROM unnest(passed) AS n OFFSET 0) p CROSS JOIN LATERAL ({_HAS}) c OFFSET 0) f
    WHERE r.dataset_key = :dataset AND {{runs}}
"""  # noqa: S608
# For another of more pages than half the hashes: the page of each hash by its key.
_FEW = f"""
    SELECT f.n FROM deduplication_runs r CROSS JOIN LATERAL (
      SELECT n FROM each CROSS JOIN LATERAL ({_HAS}) c OFFSET 0) f
    WHERE r.dataset_key = :dataset AND r.bits > :bits AND NOT {_IS_FILTERED} AND {{runs}}
"""  # noqa: S608
# For a smaller run: all its pages, and of each the hashes between its first and its last.
_MANY = f"""
    SELECT f.n FROM deduplication_runs r CROSS JOIN given CROSS JOIN LATERAL (
      SELECT n FROM (
        SELECT hashes, generate_series(
          greatest(width_bucket(hashes[1], all_hashes), 1),
          width_bucket(hashes[cardinality(hashes)], all_hashes)) AS n
        FROM {{pages}} p WHERE p.run = r.id OFFSET 0) c
      WHERE all_hashes[n] = hashes[width_bucket(all_hashes[n], hashes)] OFFSET 0) f
    WHERE r.dataset_key = :dataset AND r.bits <= :bits AND NOT {_IS_FILTERED} AND {{runs}}
"""  # noqa: S608


def find_claimed(
    tx: Transaction, window: DeduplicationWindow, claims: Sequence[DayKeys]
) -> list[int]:
    """The positions, in order, of the keys that were claimed before, over all days given."""
    given = keyed_hashes.joined([keyed_hashes.keyed(window.key, day.hashes) for day in claims])
    if not len(given):
        return []
    order = keyed_hashes.order(given)
    ordered = given[order]
    # To read a page in order takes 1.4 times as long as to look up the page of a hash by its key.
    bits = len(ordered).bit_length() - 2 if len(ordered) >= MANY else -1
    filtered = run_filters.FILTERS.apply(window.dataset_key, ordered)
    values = {
        "dataset": window.dataset_key,
        "hashes": pg_arrays.Uuids(keyed_hashes.packed(ordered)),
        "bits": bits,
        "filtered": pg_arrays.texts(filtered.uids),
        "passed": pg_arrays.numbers([position + 1 for position in filtered.positions]),
        "lows": pg_arrays.numbers([0, *filtered.ends][:-1]),
        "highs": pg_arrays.numbers(filtered.ends),
    }
    statement = _lookup(window, bits, is_filtered=bool(filtered.uids))
    claimed = {n - 1 for n in tx.execute(statement, values).scalars()}
    return sorted(order[list(claimed)].tolist())


def claim(tx: Transaction, window: DeduplicationWindow, claims: Sequence[DayKeys]) -> None:
    """Claim distinct keys, none of them claimed; those outside the window are not kept."""
    for day in claims:
        if window.has(day.day) and day.hashes:
            hashes = keyed_hashes.keyed(window.key, day.hashes)
            ordered = hashes[keyed_hashes.order(hashes)]
            uid = _add_run(tx, window.dataset_key, day.day, ordered)
            run_filters.FILTERS.add(uid, window.dataset_key, ordered)


def _lookup(window: DeduplicationWindow, bits: int, *, is_filtered: bool) -> TextClause:
    """A statement over the tables of a window's days: a planner would open all of them."""
    young = f"r.is_young AND r.day BETWEEN {window.first} AND {window.last}"
    tables = {YOUNG: young} | {
        OF_DAYS[day % SLOTS]: f"NOT r.is_young AND r.day = {day}"
        for day in range(window.first, window.last + 1)
    }
    forms = [_FEW, *([_MANY] if bits >= 0 else []), *([_PASSED] if is_filtered else [])]
    parts = [
        form.format(pages=table, runs=runs) for form in forms for table, runs in tables.items()
    ]
    return text(_GIVEN + " UNION ALL ".join(parts))


def _add_run(tx: Transaction, dataset_key: int, day: int, hashes: KeptHashes) -> str:
    """Write a young run of distinct hashes, in order; returns its `uid`."""
    run, uid, bits = sorted_runs.add_run(tx, dataset_key, day, len(hashes), is_young=True)
    # The lowest hashes of pages after the first; the shift is of 64 bits if there is no such page.
    starts = np.arange(1, 1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    lows = np.concatenate([[0], np.searchsorted(hashes[:, 0], starts)])
    highs = np.append(lows[1:], len(hashes))
    buckets = np.flatnonzero(highs > lows)
    values = {"run": run, "hashes": pg_arrays.Uuids(keyed_hashes.packed(hashes))}
    values |= {"buckets": pg_arrays.numbers(buckets.tolist())}
    values |= {"lows": pg_arrays.numbers(lows[buckets].tolist())}
    values |= {"highs": pg_arrays.numbers(highs[buckets].tolist())}
    tx.execute(_CUT, values)
    return uid
