"""Hot calls and periodic jobs over 10 million segments: each reads what it returns or changes.

`make test-scale` runs it: half an hour and 15 GB of disk. META_SCALE_PERCENT makes it smaller.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.store.catalog import usage
from meta.store.deletion import lifetimes, retention, tombstones
from meta.store.deletion.lifetimes import Ages, ExpiryRule
from meta.store.engine.keyset import Window
from meta.store.engine.pool import Database, Transaction
from meta.store.lookup.held_classes import HeldClasses
from meta.store.lookup.page_statement import PageQuery
from meta.store.merging import explanations, merge_claims, merge_planning, size_tiers
from meta.store.merging.merge_claims import Poll
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.registration import registrations
from meta.store.registration.calls import Merge
from meta.store.segments import stats
from meta.store.streams import commits, merged_offsets, stream_reads, tokens
from meta.store.streams.commits import OffsetCommit
from meta.store.streams.merged_offsets import Backlogs
from meta.store.streams.stream_datasets import EntryMove
from meta.store.streams.stream_reads import StreamScope
from meta.store.versions import versions
from segments.offsets import OffsetSpan
from tests.support.meta.page_reads import read_page
from tests.support.meta.plans import rows_read
from tests.support.meta.scale import DATASETS, HOUR_NANOS, STREAMS, TOKENS, fill
from tests.support.meta.server import MetaServer

pytestmark = [pytest.mark.scale, pytest.mark.timeout(7_200)]
PERCENT = int(os.environ.get("META_SCALE_PERCENT", "100"))
# A call may read so many rows for one that it returns or changes, and so many for itself.
ROWS_A_ROW, ROWS_A_CALL = 8, 200
# Of a stream with a backlog: its head, two entries, and the baby segments beside each of these.
ROWS_A_STREAM = 14
GRACE = 2_100.0
AGES = Ages(86_400.0, GRACE, 86_400.0, 604_800.0, 2_592_000.0, 2_592_000.0, 7e6, 604_800.0)
# The stream whose first dataset is the seventh.
STREAM, DATASET = UUID(int=6), UUID(int=(1 << 64) + 7)
KEY = "SELECT key FROM datasets WHERE id = :id"


@pytest.fixture
def database(meta_server: MetaServer) -> Iterator[Database]:
    """Give a database with the documented numbers of everything, and figures of its making."""
    began = time.monotonic()
    size_bytes = fill(meta_server.running.database, PERCENT)
    print(f"\nfilled {PERCENT} % in {time.monotonic() - began:.0f} s, {size_bytes / 2**30:.1f} GiB")
    yield meta_server.running.database
    for pages in (
        lifetimes._pending_pages,
        lifetimes._checkpoint_pages,
        lifetimes._period_pages,
        lifetimes._usage_pages,
    ):
        pages.last = (UUID(int=0), UUID(int=0))


def key_of(tx: Transaction) -> int:
    return int(tx.execute(text(KEY), {"id": DATASET}).scalar_one())


def find_hours(tx: Transaction) -> int:
    name = str(
        tx.execute(text("SELECT name FROM datasets WHERE id = :id"), {"id": DATASET}).scalar()
    )
    query = PageQuery(500 * HOUR_NANOS + 1, 510 * HOUR_NANOS - 1, 1_000, names=[name])
    # The statement compares the names of all datasets.
    return len(read_page(tx, query).pairs) + DATASETS


def find_everywhere(tx: Transaction) -> int:
    masks = tx.execute(text("SELECT key, 1 << 6 FROM datasets ORDER BY key")).all()
    known = HeldClasses()
    known.learn([(key, mask) for key, mask in masks], 1_000)
    query = PageQuery(500 * HOUR_NANOS + 1, 501 * HOUR_NANOS - 1, 1_000, classes=known.known(0))
    return len(read_page(tx, query).pairs) + len(masks)


def commit(tx: Transaction) -> int:
    offset = OffsetCommit(STREAM, 5, 1, 2, 1_000, 10, b"f" * 16, (DATASET,), (10,))
    assert commits.commit_batch(tx.exec_driver_sql, [offset])[0] is not None
    return 1


def register(tx: Transaction) -> int:
    move = EntryMove(DATASET, OffsetSpan(str(STREAM), 4, 4), 1)
    registrations.register_batch(tx, [Merge(DATASET, (), (move,))])
    return 1


def poll_everything(tx: Transaction) -> int:
    page = stream_reads.read_streams(tx, StreamScope(), GRACE, most=1_000)
    entries = merged_offsets.read(tx, Backlogs.whole([row.id for row in page]))
    # Each with an entry's newest checkpoint and its dataset's grace.
    return len(page) + len(entries)


def poll_changes(tx: Transaction) -> int:
    # Each with the baby segment that is not merged.
    return 2 * len(stream_reads.read_streams(tx, StreamScope(versions.current(tx)), GRACE))


CALLS: dict[str, Callable[[Transaction], object]] = {
    "FindSegments of ten hours": find_hours,
    "FindSegments of an hour in all datasets": find_everywhere,
    "CommitOffset": commit,
    "RegisterMergedSegment": register,
    "a page of a poll": poll_everything,
    "a poll for changes": poll_changes,
    "ValidateIngestToken": lambda tx: tokens.find_by_digests(tx, [b"d" * 32]) is None,
    "a page of ListIngestTokens": lambda tx: (
        len(tokens.list_page(tx, Window(100, 1 << 20)).items)
        # `total` is exact.
        + TOKENS
    ),
    "GetUsage": lambda tx: len(usage.read(tx, [])),
    "GetJanitorStats of all": lambda tx: stats.read(tx, None) and 2 * DATASETS,
    "GetJanitorStats of one": lambda tx: stats.read(tx, key_of(tx)) and 1,
    "PollForSegmentMergeTask": lambda tx: len(
        merge_claims.claim_batch(tx, [Poll("worker", False)], 60.0)
    ),
    "CreateMergeTasks of a dataset": lambda tx: len(
        merge_planning.candidates(tx, key_of(tx), SegmentFilter())
    ),
    "deletion": lambda tx: len(tombstones.hand_out(tx, grace_secs=GRACE, most=1_000)) + DATASETS,
    "retention": lambda tx: retention.bury_expired(tx) + DATASETS,
    "GetSegmentSizeStats of a dataset": lambda tx: sum(
        tier.segment_count for tier in size_tiers.read(tx, key_of(tx), SegmentFilter())
    ),
    # Each class of duration is read up to the limit.
    "ExplainMergePlan": lambda tx: 3 * len(explanations.read(tx, key_of(tx), 1_000)),
}


def test_no_hot_call_and_no_periodic_job_reads_more_than_it_returns_or_changes(
    database: Database,
) -> None:
    """One test, because the fill is what takes time."""
    figures = {name: measured(database, work) for name, work in CALLS.items()}
    for rule in (*lifetimes.FREQUENT, *lifetimes.SLOW):
        figures[f"rule {rule.name}"] = measured(database, partial(run_rule, rule))

    for name, (read, returned, secs) in figures.items():
        print(f"{name:45} {read:>9} rows read for {returned:>7}, {secs * 1e3:8.1f} ms")
    page = lifetimes.KEYS_AT_ONCE
    excess = {
        name: (read, returned)
        for name, (read, returned, _) in figures.items()
        # The rules look at a page of streams, of datasets at all.
        if read
        > ROWS_A_CALL + ROWS_A_ROW * returned + (ROWS_A_STREAM * page if name[:4] == "rule" else 0)
    }
    assert excess == {}


def run_rule(rule: ExpiryRule, tx: Transaction) -> int:
    return rule.run(tx, AGES)


def measured(database: Database, work: Callable[..., object]) -> tuple[int, int, float]:
    """Rows read, rows returned or changed, and seconds of a run on warm caches."""
    returned: list[int] = []

    def run(tx: Transaction) -> None:
        returned.append(int(work(tx)))  # type: ignore[call-overload]

    read = rows_read(database, run, is_small=PERCENT < 100)
    began = time.monotonic()
    with database.engine.connect() as tx:
        work(tx)
        secs = time.monotonic() - began
        tx.rollback()
    return read, returned[0], secs


def test_the_numbers_are_those_that_are_documented() -> None:
    assert (DATASETS, STREAMS, TOKENS) == (1_000, 120_000, 10_000)
