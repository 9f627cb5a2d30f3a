"""One baby segment is committed with the same facts, whoever commits it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from collector.otlp.export import CommittedDigests
from collector.streams.stream import StreamEnded, StreamWriter
from dataplane.baby_facts import CommitFacts
from meta.v1 import ingestion_pb2, nursery_pb2
from nursery.lifecycle import reaper
from nursery.planning.snapshot import StreamInfo, read_snapshot
from segments.baby import decode_baby
from segments.errors import CorruptObject
from segments.keys import baby_key
from tests.support.babies import BABIES, BABY
from tests.support.collector.ground import Ground
from tests.support.collector.seat import Seat, run

TIMEOUT_NANOS = 0
Row = tuple[int, int, int, int, bytes | None, list[object] | None]


def put(seat: Seat, collector_id: str, body: bytes) -> str:
    """Put a baby as the first of a collector's stream; returns the stream."""
    stream_id, _ = seat.ground.register(collector_id, seat.token)
    seat.ground.store.put_if_absent(baby_key(stream_id, 0), body)
    return stream_id


def adopt_as_collector(seat: Seat, stream_id: str) -> None:
    async def adopt() -> None:
        await seat.tail(stream_id).adopt_all(0)

    try:
        run(adopt())
    except StreamEnded:
        assert is_stop(seat.ground.store.get(baby_key(stream_id, 0)))


def adopt_as_nursery(ground: Ground, stream_id: str) -> None:
    reaper.stop_dead(ground.client, ground.store, seen_now(ground, stream_id), TIMEOUT_NANOS)


def seen_now(ground: Ground, stream_id: str) -> StreamInfo:
    request = nursery_pb2.GetIngestStreamsRequest()
    snapshot = read_snapshot(ground.client.nursery.GetIngestStreamsForNursery(request))
    return next(info for info in snapshot.streams if info.stream_id == stream_id)


def is_stop(body: bytes) -> bool:
    try:
        return decode_baby(body).is_stop
    except CorruptObject:
        return False


def committed(ground: Ground, stream_id: str) -> Row:
    """The facts that meta keeps of the stream's only baby; -1 for a time that is its arrival."""
    with psycopg.connect(ground.database_url) as connection:
        row = connection.execute(
            "SELECT start_ns, end_ns, size_bytes, num_records, flush_id, dataset_ids"
            " FROM baby_segments WHERE stream_id = %s",
            (stream_id,),
        ).fetchone()
    assert row is not None, "nobody committed the baby"
    arrived_at = ground.store.head(baby_key(stream_id, 0)).modified_at_nanos
    start_ns, end_ns, *rest = row
    return (since(start_ns, arrived_at), since(end_ns, arrived_at), *rest)


def since(time: int, arrived_at: int) -> int:
    return -1 if time == arrived_at else time


@pytest.mark.parametrize("name", BABIES)
def test_each_baby_of_the_codec_suite_has_one_set_of_facts(seat: Seat, name: str) -> None:
    by_collector = put(seat, "collector-1", BABIES[name])
    by_nursery = put(seat, "collector-2", BABIES[name])

    adopt_as_collector(seat, by_collector)
    adopt_as_nursery(seat.ground, by_nursery)

    assert committed(seat.ground, by_collector) == committed(seat.ground, by_nursery)


@pytest.mark.parametrize("name", [n for n in BABIES if n.startswith("stamped")])
def test_the_collector_that_wrote_a_baby_commits_the_facts_of_who_finds_it(
    seat: Seat, name: str
) -> None:
    written, _ = seat.ground.register("collector-1", seat.token)
    found = put(seat, "collector-2", BABIES[name])
    baby = decode_baby(BABIES[name])

    async def write() -> None:
        await StreamWriter(seat.tail(written), 0).write(baby)

    run(write())
    adopt_as_collector(seat, found)

    assert committed(seat.ground, written) == committed(seat.ground, found)


def test_a_nursery_goes_on_behind_a_baby_that_cannot_be_read(seat: Seat) -> None:
    stream_id = put(seat, "collector-1", BABIES["damaged"])
    seat.ground.store.put_if_absent(baby_key(stream_id, 1), BABIES["unstamped"])

    adopt_as_nursery(seat.ground, stream_id)

    assert seat.ground.commits() == [(stream_id, 0, 0), (stream_id, 1, 1)]


@pytest.mark.parametrize(
    ("old_start", "old_end", "old_records"),
    [(5000, 5000, 2), (5000, 9000, 2), (0, 0, 0)],
    ids=["as its collector counted", "as adoption counted", "as a foreign collector counts"],
)
def test_a_baby_that_was_committed_under_old_facts_holds_up_no_adopter(
    seat: Seat, old_start: int, old_end: int, old_records: int
) -> None:
    body = BABIES["unstamped, one without a time"]
    stream_id = put(seat, "collector-1", body)
    seat.ground.store.put_if_absent(baby_key(stream_id, 1), BABIES["unstamped"])
    stale = seen_now(seat.ground, stream_id)
    old = CommitFacts(old_start, old_end, len(body), old_records, b"", {})
    seat.ground.client.ingestion.CommitOffset(old.request(stream_id, 0))

    run(seat.tail(stream_id).commit_found(0))
    reaper.stop_dead(seat.ground.client, seat.ground.store, stale, TIMEOUT_NANOS)

    assert seat.ground.commits() == [(stream_id, 0, old_records), (stream_id, 1, 1)]
    assert seen_now(seat.ground, stream_id).is_stopped


def test_another_process_repeats_a_commit_with_the_facts_of_the_first(seat: Seat) -> None:
    stream_id = put(seat, "collector-1", BABIES["unstamped, one without a time"])
    stale = seen_now(seat.ground, stream_id)
    adopt_as_collector(seat, stream_id)
    before = committed(seat.ground, stream_id)

    with ThreadPoolExecutor(1) as threads:
        again = replace(seat, threads=threads, digests=CommittedDigests(600.0))
        adopt_as_collector(again, stream_id)
    reaper.stop_dead(seat.ground.client, seat.ground.store, stale, TIMEOUT_NANOS)

    assert committed(seat.ground, stream_id) == before


def test_a_stamp_that_names_no_dataset_holds_up_no_stream(seat: Seat) -> None:
    assert BABY.dataset_ids == ("dataset",)
    stream_id = put(seat, "collector-1", BABIES["stamped"])

    adopt_as_collector(seat, stream_id)

    assert seat.ground.commits() == [(stream_id, 0, BABY.num_records)]


def test_the_facts_are_what_commit_offset_sends() -> None:
    facts = CommitFacts(1, 2, 3, 4, b"f" * 16, {"a": 3, "b": 1})

    request = facts.request("stream", 7)

    assert request == ingestion_pb2.CommitOffsetRequest(
        stream_id="stream",
        committed_offset=7,
        start_time=1,
        end_time=2,
        size_bytes=3,
        num_records=4,
        flush_id=b"f" * 16,
        dataset_ids=["a", "b"],
        dataset_records=[3, 1],
    )
