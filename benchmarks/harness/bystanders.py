"""Other callers of meta: collectors that commit and nurseries that register, timed call by call."""

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from threading import Event, Thread
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2

CALLERS = 4
# Bystanders are there to be measured, not to load the machine.
PAUSE_SECS = 0.01
KINDS = ("commit_offset", "register_merged_segment")


@dataclass(frozen=True, slots=True)
class TimedCall:
    """One call; monotonic seconds, which all processes of a machine share."""

    kind: str
    began: float
    ended: float


@dataclass(slots=True)
class Bystanders:
    """The calls of a run, once it has ended."""

    calls: list[TimedCall] = field(default_factory=list)

    def p99_ms(self, kind: str, began: float, ended: float) -> float:
        """The 99th percentile of the calls that were under way in a window."""
        took = sorted(
            1e3 * (call.ended - call.began)
            for call in self.calls
            if call.kind == kind and call.ended > began and call.began < ended
        )
        assert took, f"no {kind} in the window"
        return took[min(len(took) - 1, int(0.99 * len(took)))]


@contextmanager
def bystanders(address: str, token: str, dataset_id: str) -> Iterator[Bystanders]:
    """Run the callers in their own process until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(address, token, dataset_id, theirs))
    process.start()
    found = Bystanders()
    try:
        ours.recv()
        yield found
        ours.send("stop")
        found.calls += [TimedCall(*call) for call in ours.recv()]
    finally:
        process.terminate()
        process.join()


def _run(address: str, token: str, dataset_id: str, pipe: Connection) -> None:
    calls: list[tuple[str, float, float]] = []
    stop = Event()
    with MetaClient(address, deadline_secs=300) as client:
        threads = [
            Thread(target=_call, args=(client, token, dataset_id, stop, calls))
            for _ in range(CALLERS)
        ]
        for thread in threads:
            thread.start()
        pipe.send("started")
        pipe.recv()
        stop.set()
        for thread in threads:
            thread.join()
    pipe.send(calls)


def _call(
    client: MetaClient,
    token: str,
    dataset_id: str,
    stop: Event,
    calls: list[tuple[str, float, float]],
) -> None:
    """Commit a baby and merge it, again and again."""
    register = ingestion_pb2.RegisterForStreamRequest(
        collector_id=f"bystander-{uuid4().hex}", ingest_token=token
    )
    stream_id = client.ingestion.RegisterForStream(register).stream_id
    offset = 0
    while not stop.wait(PAUSE_SECS):
        requests: Sequence[tuple[str, object, object]] = (
            (KINDS[0], client.ingestion.CommitOffset, _commit(stream_id, offset, dataset_id)),
            (KINDS[1], client.nursery.RegisterMergedSegment, _merge(stream_id, offset, dataset_id)),
        )
        for kind, method, request in requests:
            began = time.monotonic()
            method(request)  # type: ignore[operator]
            calls.append((kind, began, time.monotonic()))
        offset += 1


def _commit(stream_id: str, offset: int, dataset_id: str) -> ingestion_pb2.CommitOffsetRequest:
    return ingestion_pb2.CommitOffsetRequest(
        stream_id=stream_id,
        committed_offset=offset,
        start_time=1_000,
        end_time=2_000,
        size_bytes=1_000,
        num_records=10,
        dataset_ids=[dataset_id],
    )


def segment_of(dataset_id: str) -> common_pb2.CreateSegment:
    """Describe a segment under a fresh key."""
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=common_pb2.TimeRange(start_time=1_000, end_time=2_000),
        size_bytes=5_000,
        compressed_size_bytes=1_000,
        number_of_events=10,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=f"dataset/{dataset_id}/merged"),
            key=f"{uuid4()}.parquet",
        ),
    )


def _merge(
    stream_id: str, offset: int, dataset_id: str
) -> nursery_pb2.RegisterMergedSegmentRequest:
    return nursery_pb2.RegisterMergedSegmentRequest(
        segment=segment_of(dataset_id),
        stream_offsets=[
            nursery_pb2.StreamOffsetInfo(
                stream_id=stream_id,
                dataset_id=dataset_id,
                start_merged_offset=offset - 1,
                new_merged_offset=offset,
            )
        ],
    )
