"""The cost of deduplication keys for a dataset that has none: of a registration, and of a task.

Registrations run in this process against a Postgres, in pairs: as they are, and with what a
registration does for deduplication keys taken out. The CPU is that of Postgres and of this process.
Nothing of it grows with the records, so a nursery's task is not timed: the functions are counted
that it enters in the modules of the feature.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from sqlalchemy import event, text

from benchmarks import events_once
from benchmarks.harness import registrations
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres
from meta import migrations
from meta.access import NO_CALLER
from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.services.registration.registration_checks import checked_merge
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.registration import parts, registration_state
from meta.store.registration import registrations as store
from meta.store.registration.calls import Merge
from meta.store.registration.deduplication import DeduplicatedEvents
from segments.location import StoreLocation, Stores
from segments.parquet.spec import SegmentSpec
from segments.store.open import open_store

ENTRIES = 8
# Registrations of each entry in a round.
OFFSETS = 25
PAIRS = 24
BAR = 1.05
# Modules that a task calls for events with a deduplication key.
_MODULES = (
    "nursery/parts/deduplication.py",
    "segments/deduplication.py",
    "segments/typed/window_check.py",
    "dataplane/babies/deduplication.py",
)


def run() -> list[Result]:
    """Pairs of rounds; the median of their ratios."""
    for spec, are_entered in ((events_once.ROWS_SPEC, False), (events_once.ONCE_SPEC, True)):
        entered = _functions_entered(spec)
        print(f"  functions of deduplication keys that a task enters: {entered}", flush=True)
        assert bool(entered) == are_entered
    with bench_postgres() as postgres:
        assert postgres.pid is not None
        database = Database(DatabaseSettings(url=postgres.url))
        migrations.upgrade(database)
        scene = _Scene(database, postgres.url, postgres.pid)
        micros: dict[str, list[float]] = {"as it is": [], "without": []}
        for pair in range(PAIRS + 1):
            for side in list(micros) if pair % 2 else reversed(micros):
                taken = scene.round(is_feature_off=side == "without")
                if pair:
                    micros[side].append(taken)
        database.close()
    ours, theirs = micros["as it is"], micros["without"]
    ratios = sorted(own / other for own, other in zip(ours, theirs, strict=True))
    print(f"  ratios of pairs {ratios[0]:.3g} to {ratios[-1]:.3g}; {scene.statements} statements")
    return [
        compare(
            "register_without_identities",
            statistics.median(theirs) * statistics.median(ratios),
            statistics.median(theirs),
            reference_name="with nothing of the feature in a registration",
            unit="microseconds of CPU of Postgres and meta's store a registration",
            bar=BAR,
            higher_is_better=False,
        )
    ]


class _Scene:
    """Entries with a backlog; each registration is of the next offset of one of them."""

    def __init__(self, database: Database, url: str, postgres_pid: int) -> None:
        self._transactions, self._postgres_pid = Transactions(database), postgres_pid
        self._entries = registrations.entries(url, ENTRIES, (PAIRS + 1) * 2 * OFFSETS)
        self._stores = Stores(StoreLocation.from_url("file:///nonexistent/bench"))
        self._offset = 0
        # Statements of a registration; the same on both sides.
        self.statements = 0
        self._executed = 0
        event.listen(database.engine, "before_cursor_execute", self._count)

    def round(self, *, is_feature_off: bool) -> float:
        """Register; CPU microseconds of each."""
        offsets = range(self._offset, self._offset + OFFSETS)
        self._offset += OFFSETS
        merges = [
            checked_merge(registrations.request(entry, offset), self._stores, NO_CALLER)
            for offset in offsets
            for entry in self._entries
        ]
        self._executed = 0
        if is_feature_off:
            with _without_deduplication_keys():
                taken = self._register(merges)
        else:
            taken = self._register(merges)
        statements = self._executed // len(merges)
        assert self.statements in (0, statements), (self.statements, statements)
        self.statements = statements
        return taken

    def _register(self, merges: Sequence[Merge]) -> float:
        began = cpu_seconds(self._postgres_pid) + time.process_time()
        for merge in merges:
            (answer,) = self._transactions.write(
                lambda tx, merge=merge: store.register_batch(tx, [merge])  # type: ignore[misc]
            )
            assert not isinstance(answer, MetaError), answer
        ended = cpu_seconds(self._postgres_pid) + time.process_time()
        return 1e6 * (ended - began) / len(merges)

    def _count(self, *_: object) -> None:
        self._executed += 1


@contextmanager
def _without_deduplication_keys() -> Iterator[None]:
    """Take the part out that a registration has for keys, and the column that it reads."""
    plain = text(
        str(registration_state._LOCK).replace("deduplication_rule", "cast(NULL AS bigint)")
    )
    lock, every = registration_state._LOCK, parts.PARTS
    registration_state._LOCK = plain
    parts.PARTS = tuple(part for part in every if part is not DeduplicatedEvents)
    try:
        yield
    finally:
        registration_state._LOCK, parts.PARTS = lock, every


def _functions_entered(spec: SegmentSpec) -> int:
    """Count the functions of the feature that a task enters, of any thread but the readers'."""
    folder, entered = Path(tempfile.mkdtemp(prefix="segplane-bench-")), 0

    def profile(frame: FrameType, kind: str, _: object) -> None:
        nonlocal entered
        entered += kind == "call" and frame.f_code.co_filename.endswith(_MODULES)

    try:
        (folder / "objects").mkdir()
        bucket = open_store(StoreLocation.from_url((folder / "objects").as_uri()))
        for offset in range(events_once.BABIES):
            events_once.put_baby(bucket, offset)
        sys.setprofile(profile)
        events_once.merge(bucket, spec, folder / "work")
    finally:
        sys.setprofile(None)
        shutil.rmtree(folder, ignore_errors=True)
    return entered
