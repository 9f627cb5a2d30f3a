"""Live numbers of a dataset: what FindSegments returns, counted."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from meta import migrations
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.planning.planner import Policy
from meta.v1 import catalog_pb2, operations_pb2
from meta.v1.resources_pb2 import (
    GetDatasetNumbersRequest,
    GetDatasetNumbersResponse,
    ListDatasetNumbersRequest,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000
ACCEPTANCE = operations_pb2.LossAcceptance(accept_loss=True, actor="a person", reason="a test")
LARGE = 256 * 1024 * 1024
UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Merge three segments of a day, and delete what was merged at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes, merge_policy=Policy(files_max=2))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def numbers(client: MetaClient, version: int | None = None) -> GetDatasetNumbersResponse:
    request = GetDatasetNumbersRequest(name="web", version=version)
    return client.resources.GetDatasetNumbers(request)


def counted(writer: Writer, version: int | None = None) -> GetDatasetNumbersResponse:
    """Count the segments that FindSegments returns."""
    reply = writer.find("web", as_of_version=version, limit=10_000)
    segments = reply.segments
    times = [(s.time_range.start_time, s.time_range.end_time) for s in segments]
    return GetDatasetNumbersResponse(
        version=reply.snapshot_version if version is None else version,
        record_count=sum(s.number_of_events for s in segments),
        record_size=sum(s.size_bytes for s in segments),
        segment_count=len(segments),
        segment_size=sum(s.compressed_size_bytes for s in segments),
        start_time_nanos=min((start for start, _ in times), default=None),
        end_time_nanos=max((end for _, end in times), default=None),
    )


def execute(server: MetaServer, statement: str) -> None:
    with server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def test_numbers_are_those_of_the_segments_that_readers_find(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    nothing = numbers(writer.client)
    writer.save(segment_of(dataset, EPOCH + 9, EPOCH + 15, events=7, compressed=300))
    writer.save(segment_of(dataset, EPOCH, EPOCH + 1, events=2, compressed=200))
    both = numbers(writer.client)
    writer.save(segment_of(dataset, EPOCH + 1, EPOCH + 3, events=4, compressed=250))
    worker.plan()
    assert worker.merge_all() == 1

    assert nothing == GetDatasetNumbersResponse(version=nothing.version, record_count=0)
    assert (both.record_count, both.record_size) == (9, 2_500)
    assert (both.segment_count, both.segment_size) == (2, 500)
    assert (both.start_time_nanos, both.end_time_nanos) == (EPOCH, EPOCH + 15)
    assert numbers(writer.client) == counted(writer)
    assert numbers(writer.client, both.version) == both == counted(writer, both.version)


def test_the_first_time_is_also_that_of_a_large_or_excluded_segment(
    writer: Writer, meta_server: MetaServer, dataset: str
) -> None:
    writer.save(segment_of(dataset, EPOCH))
    writer.save(segment_of(dataset, EPOCH - SECOND, compressed=LARGE))
    large = numbers(writer.client).start_time_nanos
    writer.save(segment_of(dataset, EPOCH - 2 * SECOND, events=3))
    execute(meta_server, "UPDATE segments SET quarantined_at = now() WHERE number_of_events = 3")

    assert large == EPOCH - SECOND
    assert numbers(writer.client).start_time_nanos == EPOCH - 2 * SECOND


def test_numbers_are_refused_for_what_cannot_be_read(
    writer: Writer, worker: WorkerDriver, meta_server: MetaServer, dataset: str
) -> None:
    ids = writer.save_many(dataset, 3)
    before = numbers(writer.client).version
    execute(meta_server, "UPDATE datasets SET deletion_horizon = 1000000, pins_horizon = 1000000")

    with pytest.raises(VersionExpired):
        numbers(writer.client, before)
    with pytest.raises(InvalidArgument):
        numbers(writer.client, before + 1_000_000)
    with pytest.raises(NotFound):
        writer.client.resources.GetDatasetNumbers(GetDatasetNumbersRequest(id=ids[0]))
    with pytest.raises(NotFound):
        writer.client.resources.GetDatasetNumbers(GetDatasetNumbersRequest(name="other"))
    with pytest.raises(InvalidArgument):
        writer.client.resources.GetDatasetNumbers(GetDatasetNumbersRequest())


def test_a_dataset_is_named_by_its_id_or_by_the_name_of_the_version(
    writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    before = numbers(writer.client)
    request = operations_pb2.RenameDatasetRequest(dataset_id=dataset, new_name="shop")
    writer.client.operations.RenameDataset(request)

    by_id = GetDatasetNumbersRequest(id=dataset, version=before.version)
    assert writer.client.resources.GetDatasetNumbers(by_id) == before
    assert numbers(writer.client, before.version) == before
    with pytest.raises(NotFound, match="shop"):
        numbers(writer.client)


@pytest.mark.database_owner
def test_records_are_absent_until_the_upgrade_is_finished_and_counted_then(
    writer: Writer, worker: WorkerDriver, meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    execute(meta_server, "UPDATE meta_state SET least_release = '0.3.0'")
    dataset = catalog.dataset("web")
    writer.save_many(dataset, 3)
    # A server of 0.3.0 counts no records.
    execute(meta_server, "UPDATE dataset_stats SET live_records = 4")
    unknown = numbers(writer.client)
    execute(meta_server, "UPDATE meta_servers SET seen_at = now() - interval '1 hour'")
    assert migrations.finish(meta_server.running.database)
    known = numbers(writer.client)
    worker.plan()
    worker.merge_all()
    catalog.dataset("new")
    new = writer.client.resources.GetDatasetNumbers(GetDatasetNumbersRequest(name="new"))

    assert not unknown.HasField("record_count")
    assert unknown.segment_count == 3
    assert known.record_count == 30
    assert numbers(writer.client) == counted(writer)
    assert new.HasField("record_count")
    assert not migrations.finish(meta_server.running.database)


def test_wrong_records_are_found_and_repaired(
    writer: Writer, meta_server: MetaServer, dataset: str
) -> None:
    writer.save_many(dataset, 3)
    execute(meta_server, "UPDATE dataset_stats SET live_records = live_records + 5")
    wrong = numbers(writer.client).record_count
    repair = operations_pb2.Repair(kind=operations_pb2.FINDING_KIND_STATS, subject_id=dataset)
    request = operations_pb2.RepairCatalogRequest(repairs=[repair])

    repaired = writer.client.operations.RepairCatalog(request).repaired

    assert list(repaired) == [True]
    assert (wrong, numbers(writer.client).record_count) == (35, 30)


class Changes:
    """Changes of a dataset in any order."""

    def __init__(self, writer: Writer, worker: WorkerDriver, dataset: str, seed: int) -> None:
        self.writer, self.worker, self.dataset = writer, worker, dataset
        self.draw = random.Random(seed)
        self.merges = 0

    def save(self) -> None:
        start = EPOCH + self.draw.randrange(1_000) * SECOND
        end = start + self.draw.randrange(90) * SECOND
        events = self.draw.randrange(50)
        self.writer.save(
            segment_of(self.dataset, start, end, events=events, compressed=1_000 + start % 97)
        )

    def merge(self) -> None:
        self.worker.plan()
        self.merges += self.worker.merge_all()

    def hide(self) -> None:
        if segments := self.writer.find("web").segments:
            segment = self.draw.choice(segments)
            request = operations_pb2.HideSegmentRequest(
                segment_id=segment.id, acceptance=ACCEPTANCE
            )
            self.writer.client.operations.HideSegment(request)

    def replace(self) -> None:
        if segments := self.writer.find("web").segments:
            old = self.draw.choice(segments)
            new = segment_of(self.dataset, events=old.number_of_events)
            new.time_range.CopyFrom(old.time_range)
            operations = self.writer.client.operations
            replaced = operations.ReplaceSegment(
                operations_pb2.ReplaceSegmentRequest(
                    segment_id=old.id, segment=new, acceptance=ACCEPTANCE
                )
            )
            if self.draw.random() < 0.5:
                operations.TakeBackReplacement(
                    operations_pb2.TakeBackReplacementRequest(
                        segment_id=replaced.segment_id, acceptance=ACCEPTANCE
                    )
                )

    def delete(self) -> None:
        self.writer.confirm(*(segment.segment_id for segment in self.writer.due()))

    def any(self) -> None:
        changes: list[Callable[[], None]] = [self.save] * 6
        changes += [self.merge, self.hide, self.replace, self.delete]
        self.draw.choice(changes)()


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_numbers_after_any_changes_equal_a_recount(
    writer: Writer, worker: WorkerDriver, dataset: str, seed: int
) -> None:
    changes = Changes(writer, worker, dataset, seed)
    past = []
    for _ in range(60):
        changes.any()
        now = numbers(writer.client)
        assert now == counted(writer)
        past.append(now)

    assert changes.merges
    num_readable = 0
    for then in reversed(past):
        if is_readable(writer, then.version):
            num_readable += 1
            assert numbers(writer.client, then.version) == then
        else:
            with pytest.raises(VersionExpired):
                numbers(writer.client, then.version)
    assert num_readable


def is_readable(writer: Writer, version: int) -> bool:
    try:
        writer.find("web", as_of_version=version)
    except VersionExpired:
        return False
    return True


def test_numbers_of_several_datasets_come_at_once_without_those_that_are_not_there(
    catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    empty, deleted = catalog.dataset("empty"), catalog.dataset("deleted")
    writer.save_many(dataset, 2)
    catalog.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=deleted))
    request = ListDatasetNumbersRequest(ids=[empty, dataset, deleted, UNKNOWN])

    reply = catalog.client.resources.ListDatasetNumbers(request)

    listed = {each.id: each.numbers for each in reply.datasets}
    assert set(listed) == {empty, dataset}
    assert listed[dataset] == numbers(catalog.client)
    assert not listed[empty].HasField("start_time_nanos")
    with pytest.raises(InvalidArgument, match="duplicate"):
        catalog.client.resources.ListDatasetNumbers(
            ListDatasetNumbersRequest(ids=[dataset, dataset])
        )
