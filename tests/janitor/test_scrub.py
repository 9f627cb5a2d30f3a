"""The scrub against a real meta and a real folder."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from janitor import jobs
from janitor.jobs import Tools
from janitor.scrub import Pace, scrub_piece
from meta import metrics
from meta.store.checks.object_checks import SCRUB_LEASE_SECS
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreUnavailable
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from tests.support.merge_worker.case import Case
from tests.support.meta.pins import PinDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver


@dataclass(frozen=True)
class FaultyReads:
    """A store whose reads fail as a test says; `faults` is taken from its front."""

    store: ObjectStore
    faults: list[str]

    def open_input(self, key: str) -> io.IOBase:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "away":
            raise StoreUnavailable("the test said so")
        source = self.store.open_input(key)
        return io.BytesIO(b"X" + source.read()[1:]) if fault == "flip" else source


@pytest.fixture
def case(tools: Tools, tmp_path: Path) -> Case:
    return Case(tools.meta, tmp_path)


def scrub(tools: Tools, store: object | None = None, pass_secs: float = 0.0) -> bool:
    """One piece, as fast as it goes."""
    return scrub_piece(
        tools.meta,
        store or tools.store,  # type: ignore[arg-type]
        tools.shutdown,
        Pace(1e12, tools.shutdown.wait),
        holder=tools.janitor_id,
        pass_secs=pass_secs,
    )


def scrub_all(tools: Tools, store: object | None = None) -> pb.ScrubPosition:
    """One pass."""
    while True:
        scrub(tools, store)
        if state(tools).position.is_complete:
            return state(tools).position


def state(tools: Tools) -> pb.GetScrubStateResponse:
    return tools.meta.operations.GetScrubState(pb.GetScrubStateRequest())


def damaged(tools: Tools) -> dict[str, str]:
    reply = tools.meta.operations.ListDamagedObjects(pb.ListDamagedObjectsRequest())
    return {one.object_key: one.damage for one in reply.objects}


def expire_lease(meta_server: MetaServer) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE scrub_state SET lease_until = clock_timestamp()"))


def flip(tools: Tools, key: str, at: int) -> None:
    assert isinstance(tools.store, FolderStore)
    path = tools.store.root / key
    body = bytearray(path.read_bytes())
    body[at] ^= 1
    path.write_bytes(body)


def test_a_flipped_byte_is_found_and_forgotten_once_it_is_back(tools: Tools, case: Case) -> None:
    case.save(1)
    case.save(2)
    second = case.key(case.find()[1])
    scrub_all(tools)  # Fills in the checksums, which this writer does not send.
    flip(tools, second, 100)

    with capture_logs() as events:
        scrub_all(tools)

    assert list(damaged(tools)) == [second]
    alarms = [event["object_key"] for event in events if event["event"] == "object_damaged"]
    assert alarms == [second]
    assert "CRC-32C" in damaged(tools)[second]
    assert metrics.JANITOR.get_sample_value("segplane_janitor_damaged_objects") == 1
    flip(tools, second, 100)
    assert scrub_all(tools).objects == 2
    assert damaged(tools) == {}
    assert metrics.JANITOR.get_sample_value("segplane_janitor_damaged_objects") == 0


def test_a_missing_baby_is_found(tools: Tools, case: Case) -> None:
    collector = CollectorDriver(tools.meta, case.dataset_id)
    collector.send("a")
    collector.send("b")
    keys = [info.key for info in tools.store.list("ingest-stream/")]
    tools.store.delete(keys[:1])

    scrub_all(tools)

    assert damaged(tools) == {keys[0]: "the object is missing"}


def test_one_bad_read_is_not_proof(tools: Tools, case: Case) -> None:
    case.save(1)
    scrub_all(tools)

    scrub_all(tools, FaultyReads(tools.store, ["flip"]))
    assert damaged(tools) == {}

    scrub_all(tools, FaultyReads(tools.store, ["flip", "flip"]))
    assert len(damaged(tools)) == 1


def test_an_object_without_an_answer_holds_up_no_other(tools: Tools, case: Case) -> None:
    for seed in range(4):
        case.save(seed)

    position = scrub_all(tools, FaultyReads(tools.store, ["", "away", "away"]))

    assert position.objects == 4
    assert damaged(tools) == {}


def test_a_store_that_is_away_stops_the_pass_where_it_is(tools: Tools, case: Case) -> None:
    for seed in range(5):
        case.save(seed)
    keys = sorted(case.key(segment) for segment in case.find())

    with pytest.raises(StoreUnavailable):
        scrub(tools, FaultyReads(tools.store, ["", "", "away", "away", "away"]))

    assert state(tools).position.checked_through == keys[1]
    assert state(tools).position.objects == 2
    assert scrub_all(tools).objects == 5


def test_a_new_pass_waits_until_it_is_due(tools: Tools, case: Case) -> None:
    case.save(1)
    scrub_all(tools)

    assert scrub(tools, pass_secs=3_600.0) is False
    assert scrub(tools, pass_secs=0.0) is True


def test_reads_keep_to_the_rate() -> None:
    now, waits = [0.0], list[float]()

    def wait(secs: float) -> None:
        waits.append(secs)
        now[0] += secs

    pace = Pace(100.0, wait, lambda: now[0])
    pace.after(50)
    now[0] += 2.0  # The store was slow: the time is not waited for again.
    pace.after(50)
    pace.after(300)

    assert waits == [0.5, 1.5]
    assert pace.secs == 4.0


def test_a_rate_of_zero_reads_nothing(tools: Tools, case: Case) -> None:
    case.save(1)
    settings = replace(tools.settings, scrub_bytes_per_sec=0)

    jobs.scrub(replace(tools, settings=settings))

    assert not state(tools).HasField("position")


def test_it_rests_while_no_pass_is_due(tools: Tools, case: Case) -> None:
    now = [0.0]
    scrub_job = jobs.RestingScrub(lambda: now[0])
    for _ in range(20):
        scrub_job(tools)
    assert state(tools).position.is_complete
    first = state(tools).position.began_at_nanos
    due = replace(tools, settings=replace(tools.settings, scrub_pass_secs=0.0))

    scrub_job(due)
    assert state(tools).position.began_at_nanos == first
    now[0] = jobs.SCRUB_REST_SECS
    scrub_job(due)
    assert state(tools).position.began_at_nanos > first


def test_of_two_janitors_one_scrubs_until_its_lease_is_over(
    tools: Tools, case: Case, meta_server: MetaServer
) -> None:
    case.save(1)
    other = replace(tools, janitor_id="other")

    assert scrub(tools)
    assert not scrub(other)
    assert state(tools).holder == "janitor"
    expire_lease(meta_server)
    assert scrub(other)
    assert not scrub(tools)
    assert state(tools).holder == "other"


def test_a_janitor_that_lost_its_lease_reports_damage_and_moves_nothing(
    tools: Tools, case: Case, meta_server: MetaServer
) -> None:
    case.save(1)
    scrub_all(tools)
    (key,) = (case.key(segment) for segment in case.find())
    flip(tools, key, 100)
    other, is_first = replace(tools, janitor_id="other"), iter((True,))

    class Slow(FaultyReads):
        def open_input(self, key: str) -> io.IOBase:
            if next(is_first, False):  # Another janitor takes over; the store fails it.
                expire_lease(meta_server)
                scrub(other, FaultyReads(self.store, ["away"]))
            return super().open_input(key)

    scrub(tools, Slow(tools.store, []))

    assert state(tools).holder == "other"
    assert list(damaged(tools)) == [key]


def test_the_lease_is_renewed_while_large_objects_are_read(
    tools: Tools, case: Case, meta_server: MetaServer
) -> None:
    case.save(1)
    scrub_all(tools)
    (key,) = (case.key(segment) for segment in case.find())
    flip(tools, key, 100)  # So it is read twice.
    now, holders = [0.0], list[str]()

    def wait(secs: float) -> None:
        now[0] += secs
        holders.append(state(tools).holder)
        expire_lease(meta_server)

    # A byte a second: one read takes longer than a lease.
    pace = Pace(1.0, wait, lambda: now[0])
    scrub_piece(
        tools.meta,
        tools.store,
        tools.shutdown,
        pace,
        holder=tools.janitor_id,
        pass_secs=0.0,
    )

    assert now[0] > 2 * SCRUB_LEASE_SECS
    assert holders == [tools.janitor_id] * 2


def test_a_segment_that_only_a_pin_holds_is_read(tools: Tools, case: Case) -> None:
    case.save(1)
    (segment,) = case.find()
    PinDriver(tools.meta).take(case.name)
    tools.meta.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=case.dataset_id))
    tools.store.delete([case.key(segment)])

    scrub_all(tools)

    assert damaged(tools) == {case.key(segment): "the object is missing"}
