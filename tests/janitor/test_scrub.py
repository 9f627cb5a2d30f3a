"""The scrub against a real meta and a real folder."""

import io
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from janitor import jobs
from janitor.jobs import Tools
from janitor.scrub import Pace, scrub_piece
from meta import metrics
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreUnavailable
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from tests.support.merge_worker.case import Case
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
    pace = Pace(1e12, tools.shutdown.wait)
    found = store or tools.store
    return scrub_piece(tools.meta, found, tools.shutdown, pace, pass_secs=pass_secs)  # type: ignore[arg-type]


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

    scrub_all(tools)

    assert list(damaged(tools)) == [second]
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


def test_one_bad_read_is_no_proof(tools: Tools, case: Case) -> None:
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
    for seed in range(4):
        case.save(seed)
    keys = sorted(case.key(segment) for segment in case.find())

    with pytest.raises(StoreUnavailable):
        scrub(tools, FaultyReads(tools.store, ["", "away", "away", "away"]))

    assert state(tools).position.checked_through == keys[0]
    assert state(tools).position.objects == 1
    assert scrub_all(tools).objects == 4


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
