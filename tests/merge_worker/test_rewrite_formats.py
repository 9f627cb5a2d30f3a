"""Format 1 leaves: a rewrite brings a dataset of mixed formats to format 2."""

from collections import Counter
from pathlib import Path

import pytest

from merge_worker.tasks import ClaimedTask, Failed, Outcome
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.parquet.reader import read_footer, read_segment
from tests.support.merge_worker.case import Case, Signalling
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.server import MetaServer
from tests.support.parquet.rows import Row, plain


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    return Case(meta_client, tmp_path)


@pytest.fixture
def rewrites(meta_server: MetaServer) -> RewriteDriver:
    return RewriteDriver(meta_server.client, meta_server.running.database)


def formats_in_bucket(case: Case) -> Counter[int]:
    footers = (read_footer(case.store, case.key(segment)) for segment in case.find())
    return Counter(stored.footer.format_version for stored in footers)


def visible(case: Case) -> Counter[Row]:
    keys = (case.key(segment) for segment in case.find())
    tables = (table for key in keys for table in read_segment(case.store, key).values())
    return Counter(row for table in tables for row in plain(table))


class Dying(Signalling):
    """A worker whose last task fails after its output is put, as if its process had died."""

    def run(self, task: ClaimedTask) -> Outcome:
        outcome = super().run(task)
        return Failed("the Spark job failed: its process died") if self.is_last else outcome


def test_a_dataset_of_mixed_formats_converges_to_format_2(
    case: Case, rewrites: RewriteDriver
) -> None:
    """Segments of 0.1.0 name no format, those of this release do; some span days."""
    rows: Counter[Row] = Counter()
    for seed in range(4):
        rows.update(case.save(seed, format_version=1))
        rows.update(case.save(10 + seed, days=2, format_version=1))
        rows.update(case.save(20 + seed, has_facts=True))
    kept = {segment.id for segment in case.find() if segment.facts.format_version == 2}
    assert len(kept) == 4
    assert formats_in_bucket(case) == {1: 8, 2: 4}
    assert rewrites.formats(case.dataset_id) == {0: 8, 2: 4}
    deaths = 0

    def work() -> None:
        nonlocal deaths
        if opened := rewrites.get(begun).open_tasks:
            merger = Dying(opened) if deaths < 2 else Signalling(opened)
            deaths += 1
            case.work_until(merger, merger.is_reported)
            rewrites.free_held_tasks()

    begun = rewrites.create(case.dataset_id, format_version=2, tasks_max=3)
    finished = rewrites.finish(begun, work)

    assert deaths > 2
    assert finished.state == pb.REWRITE_JOB_STATE_DONE
    assert finished.segments_done == finished.segments_total == 8
    assert formats_in_bucket(case) == {2: 12}
    assert rewrites.formats(case.dataset_id) == {2: 12}
    assert kept <= {segment.id for segment in case.find()}
    assert visible(case) == rows
