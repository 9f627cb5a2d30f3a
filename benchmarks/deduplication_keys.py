"""deduplication keys: bytes and CPU for each, with many present in a week's window.

Every registration brings its own deduplication keys, in the order of their days; runs are merged
as they become due. Then registrations of new events are timed with all of them present. Merges, of
which some are large, and filters are averaged over all deduplication keys.
The CPU is that of Postgres and of meta's store, which runs in this process. Days pass in seconds
here, so the table of young runs is vacuumed at the end of each, which autovacuum does every minute.
"""

import os
import time
from collections.abc import Callable, Sequence

from sqlalchemy import text

from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres
from meta import migrations
from meta.commits.transactions import Transactions
from meta.store.deduplication import claiming, run_filters, sorted_runs, windows
from meta.store.deduplication.sorted_runs import MergedRuns
from meta.store.deduplication.windows import SECRET_BYTES, DayKeys
from meta.store.engine.pool import Database, DatabaseSettings, Transaction
from meta.store.versions import clock
from meta.watches import rounds
from segments.deduplication import HASH_BYTES

IDENTITIES = int(os.environ.get("BENCH_IDENTITIES", "4000000"))
DAYS = int(os.environ.get("BENCH_IDENTITY_DAYS", "7"))
BATCH = 50_000
TIMED_BATCHES = 8
BYTES_MAX = 40
_KEY = 1
_SWITCH_ON = text(
    "INSERT INTO dataset_deduplication (dataset_key, days, key) VALUES (:key, :days, :secret)"
)
_VACUUM = text(f"VACUUM {sorted_runs.YOUNG}")
_SIZE = text("SELECT pg_total_relation_size(cast(:name AS regclass))")


def run() -> list[Result]:
    """Fill a window, then claim new deduplication keys."""
    filled_micros, size_bytes, new_micros = _measure()
    present = f"{IDENTITIES:,} deduplication keys of {DAYS} days present"
    return [
        compare(
            "event_identities_bytes",
            size_bytes / IDENTITIES,
            BYTES_MAX,
            reference_name=f"bound, {present}",
            unit="bytes a deduplication key",
            bar=1.0,
            higher_is_better=False,
        ),
        compare(
            "event_identities_claim",
            new_micros,
            filled_micros,
            reference_name=f"while they were claimed and merged; {present}",
            unit="microseconds of CPU of Postgres and meta a deduplication key",
            higher_is_better=False,
        ),
    ]


def claim_micros() -> float:
    """CPU microseconds of Postgres and meta to claim and merge a new one, with all present."""
    return _measure()[2]


def _measure() -> tuple[float, int, float]:
    with bench_postgres({"shared_buffers": "512MB"}) as postgres:
        assert postgres.pid is not None
        database = Database(DatabaseSettings(url=postgres.url))
        migrations.upgrade(database)
        scene = _Scene(database, postgres.pid)
        filled_micros = scene.fill()
        size_bytes = scene.size_bytes()
        new_micros = scene.claim_new()
        database.close()
    return filled_micros, size_bytes, new_micros


class _Scene:
    """A database in which one dataset claims deduplication keys."""

    def __init__(self, database: Database, postgres_pid: int) -> None:
        self._database, self._postgres_pid = database, postgres_pid
        self._transactions = Transactions(database)
        values = {"key": _KEY, "days": DAYS, "secret": os.urandom(SECRET_BYTES)}
        self._transactions.write(lambda tx: tx.execute(_SWITCH_ON, values))
        self._merge_micros = 0.0
        self._today = self._transactions.read(clock.now_nanos) // (86_400 * 10**9)

    def fill(self) -> float:
        """Claim all deduplication keys and merge what is due; CPU microseconds for each."""
        began = self._cpu_micros()
        former = first_day = self._today - DAYS + 1
        for first in range(0, IDENTITIES, BATCH):
            day = first_day + first * DAYS // IDENTITIES
            if day > former:
                self._end_day()
            self._claim(day)
            self._merge(sorted_runs.merge_due)
            former = day
        print(f"  filters: {run_filters.FILTERS.size_bytes / 1e6:.0f} MB", flush=True)
        return (self._cpu_micros() - began) / IDENTITIES

    def claim_new(self) -> float:
        """Claim new keys of today; CPU microseconds for each, with the mean of merges."""
        began = self._cpu_micros()
        for _ in range(TIMED_BATCHES):
            self._claim(self._today)
        claim_micros = (self._cpu_micros() - began) / (TIMED_BATCHES * BATCH)
        merge_micros = self._merge_micros / IDENTITIES
        print(
            f"  claims {claim_micros:.1f} µs, merges and filters {merge_micros:.1f} µs", flush=True
        )
        return claim_micros + merge_micros

    def size_bytes(self) -> int:
        """The bytes of all pages, dead ones too."""
        return self._transactions.read(
            lambda tx: sum(
                int(tx.execute(_SIZE, {"name": name}).scalar_one())
                for name in (sorted_runs.YOUNG, *sorted_runs.OF_DAYS)
            )
        )

    def _end_day(self) -> None:
        self._merge(sorted_runs.merge_over)
        began = self._cpu_micros()
        with self._database.single() as tx:
            tx.execute(_VACUUM)
        self._merge_micros += self._cpu_micros() - began

    def _merge(self, merge: Callable[[Transaction], MergedRuns | None]) -> None:
        """Merge as a server does in a round, which ends with the filters of the new runs."""
        began, is_any = self._cpu_micros(), False
        while (merged := self._transactions.write(merge)) is not None and merged.runs:
            is_any = True
        if is_any:
            run_filters.FILTERS.refresh(self._database, rounds.FILTER_BYTES_MAX)
        self._merge_micros += self._cpu_micros() - began

    def _cpu_micros(self) -> float:
        return (cpu_seconds(self._postgres_pid) + time.process_time()) * 1e6

    def _claim(self, day: int) -> None:
        claims = [DayKeys(day, os.urandom(HASH_BYTES * BATCH))]
        self._transactions.write(lambda tx: _claim(tx, claims))


def _claim(tx: Transaction, claims: Sequence[DayKeys]) -> None:
    window = windows.lock_window(tx, _KEY)
    assert window is not None
    assert not claiming.find_claimed(tx, window, claims)
    claiming.claim(tx, window, claims)
