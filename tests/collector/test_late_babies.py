"""Objects put after their offset was committed by another flush and reaped: nothing counts.

A paused collector may put a baby where another incarnation has committed one that was merged and
deleted meanwhile. None of its exports is acknowledged, so a resend of them must be written.
"""

import signal

import pytest

from collector.streams.stream import Displaced, StreamWriter, read_recent_digests
from meta.v1 import operations_pb2
from segments.baby import Baby, BabyKind, Export, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector
from tests.support.collector.seat import Seat, run
from tests.support.meta.gated_proxy import gated_proxy
from tests.support.meta.nursery import NurseryDriver

DIGEST = b"digest of a late"


def baby(seat: Seat, record_id: str, digest: bytes) -> Baby:
    part = TokenPart(
        seat.token.token_id,
        "logs",
        (log_export(record_id),),
        seat.token.dataset_id,
        1,
        10,
        20,
        (Export(digest, 5),),
    )
    return Baby((part,), BabyKind.DATA, record_id.encode().ljust(16, b"."), 2**62)


def replace_object(ground: Ground, stream_id: str, offset: int, late: Baby) -> None:
    """Reap the committed baby at an offset, and put a late one there."""
    key = baby_key(stream_id, offset)
    ground.store.delete([key])
    ground.store.put_if_absent(key, encode_baby(late))


def commit_and_replace(seat: Seat, stream_id: str, late: Baby) -> None:
    async def commit() -> None:
        await StreamWriter(seat.tail(stream_id), 0).write(baby(seat, "committed", b"1" * 16))

    run(commit())
    replace_object(seat.ground, stream_id, 0, late)


def test_recovery_reads_no_digests_of_a_late_baby(seat: Seat) -> None:
    stream_id, _ = seat.ground.register("collector-1", seat.token)
    commit_and_replace(seat, stream_id, baby(seat, "late", DIGEST))
    put_at = seat.ground.store.head(baby_key(stream_id, 0)).modified_at_nanos

    run(read_recent_digests(seat.tail(stream_id), 1, 10**9, put_at))

    assert DIGEST not in seat.digests


def test_a_flush_that_meets_a_late_baby_learns_no_digests(seat: Seat) -> None:
    stream_id, _ = seat.ground.register("collector-1", seat.token)
    commit_and_replace(seat, stream_id, baby(seat, "late", DIGEST))

    async def scenario() -> int:
        writer = StreamWriter(seat.tail(stream_id), 0)
        with pytest.raises(Displaced):
            await writer.write(baby(seat, "own", b"2" * 16))
        return (await writer.write(baby(seat, "own", b"2" * 16))).offset

    assert run(scenario()) == 1
    assert DIGEST not in seat.digests


def test_a_late_stop_message_ends_no_stream(seat: Seat) -> None:
    stream_id, _ = seat.ground.register("collector-1", seat.token)
    commit_and_replace(seat, stream_id, Baby((), BabyKind.STOP, b"s" * 16, 5))

    async def scenario() -> int:
        writer = StreamWriter(seat.tail(stream_id), 0)
        with pytest.raises(Displaced):
            await writer.write(baby(seat, "own", DIGEST))
        return (await writer.write(baby(seat, "own", DIGEST))).offset

    assert run(scenario()) == 1


def test_an_export_of_a_paused_collector_is_written_when_it_is_resent(
    ground: Ground, start_collector: StartCollector
) -> None:
    """Two incarnations: the first is paused before its put and killed before its commit."""
    token, nursery = ground.new_token(), NurseryDriver(ground.client)
    late_token = ground.new_token(beside=token)
    late_export, other_export = log_export("late"), log_export("other")
    with gated_proxy(ground.meta.address) as proxy:
        first = start_collector(COLLECTOR_META_ADDRESS=proxy.address)
        first.export(token, log_export("before"))
        # A flush registers a token that is new to the stream before it puts.
        registration = proxy.hold("RegisterForStream")
        commit = proxy.hold("CommitOffset")
        with first.stub() as stub:
            sent = stub.start(late_token.token_secret, late_export)
            registration.wait_for_a_call()
            first.process.send_signal(signal.SIGSTOP)

            second = start_collector()
            second.export(token, other_export)
            second.kill()
            [(stream_id, _, _), (_, offset, _)] = ground.commits()
            merged = nursery.segment(token.dataset_id)
            merged.number_of_events = 2
            nursery.register(token.dataset_id, (stream_id, -1, offset), segment=merged)
            ground.store.delete([baby_key(stream_id, 0), baby_key(stream_id, offset)])
            nursery.reap(stream_id, offset)

            first.process.send_signal(signal.SIGCONT)
            registration.open()
            commit.wait_for_a_call()
            first.kill()
            assert sent.exception() is not None

    third = start_collector()
    third.export(late_token, late_export)

    assert ground.store.head(baby_key(stream_id, offset)) is not None
    committed = [baby for baby in ground.commits() if baby[1] > offset]
    assert committed == [(stream_id, offset + 1, 1)]
    condemn = operations_pb2.CondemnObjectsRequest(
        object_keys=[baby_key(stream_id, offset)], dry_run=True
    )
    assert list(ground.client.operations.CondemnObjects(condemn).condemned_keys) == [
        baby_key(stream_id, offset)
    ]
