"""Registers merges at meta: a registration per dataset, all of its segments at one version.

Registrations that are due together go in one call, as many as its limits allow.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import structlog

from dataplane.registration import create_segment
from meta.client import MetaClient, refused_part
from meta.errors import (
    EventsClaimed,
    ExcessEvents,
    KeyTaken,
    LayoutChanged,
    MetaError,
    NotFound,
    ObjectCondemned,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.telemetry import about
from meta.v1 import common_pb2, nursery_pb2, operations_pb2
from nursery import metrics
from nursery.parts.parts import PARTS
from nursery.planning.planner import SPANS_MAX
from nursery.registration.move_tracker import FinishedMove

log = structlog.get_logger()
# Limits of a call; meta allows 1,000 registrations and segments, and 10,000 offsets. Above 256 KiB
# a request would wait for one of the few places of large ones.
REGISTRATIONS_MAX = 500
SEGMENTS_MAX = 1_000
# Segments of one registration.
SEGMENTS_EACH_MAX = 100
REQUEST_BYTES_MAX = 240_000
CALLS_AT_ONCE = 8
BucketOf = Callable[[str], common_pb2.CloudBucket]


@dataclass(frozen=True, slots=True)
class Registered:
    """The outcome of a registration.

    `response_seq` is None if the move was refused: another nursery merged the same babies first, or
    the state moved on. Objects that were written for it are then garbage, which the janitor
    collects. `excess` is meta's message if an operator has to decide, and `failure` an error that
    the next cycle may meet again.
    """

    response_seq: int | None = None
    excess: str = ""
    failure: str = ""
    # Positions of deduplication keys, in the order of the request, of events that are rows already.
    claimed: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class _Registration:
    finished: FinishedMove
    request: nursery_pb2.RegisterMergedSegmentRequest


class Registrations:
    """Registers the finished moves of one nursery."""

    def __init__(self, client: MetaClient) -> None:
        self._client = client

    def register(self, bucket_of: BucketOf, finished: Sequence[FinishedMove]) -> list[Registered]:
        """Make segments visible and move the offsets; answers in order.

        `bucket_of` gives the store that a segment's key names. A move without segments moves the
        offsets alone.
        """
        made = [self._made(bucket_of, move) for move in finished]
        calls = list(_calls([item for item in made if isinstance(item, _Registration)]))
        with ThreadPoolExecutor(min(CALLS_AT_ONCE, max(1, len(calls)))) as pool:
            answers = chain.from_iterable(pool.map(self._call, calls))
            return [next(answers) if isinstance(item, _Registration) else item for item in made]

    def _made(self, bucket_of: BucketOf, move: FinishedMove) -> _Registration | Registered:
        """The request of a move, or its outcome if meta did not take its deduplication keys."""
        try:
            return _Registration(move, _request(bucket_of, move, self._client))
        except MetaError as error:
            return _outcome(move, error)

    def _call(self, registrations: Sequence[_Registration]) -> list[Registered]:
        request = operations_pb2.RegisterMergedSegmentsRequest(
            registrations=[registration.request for registration in registrations]
        )
        secs = sum(part.timeout_secs(item) for item in request.registrations for part in PARTS)
        try:
            with about(registration.finished.move.dataset_id for registration in registrations):
                results = self._client.operations.RegisterMergedSegments(
                    request, timeout=secs or None
                ).results
        except MetaError as error:
            return [_outcome(registration.finished, error) for registration in registrations]
        return [
            _outcome(
                registration.finished,
                refused_part(result.refusal)
                if result.HasField("refusal")
                else result.segment_version,
            )
            for registration, result in zip(registrations, results, strict=True)
        ]


def beyond_limits(finished: FinishedMove) -> str:
    """Name the part of a move that is beyond the limits of a registration; "" if none is."""
    dataset_id = finished.move.dataset_id
    if len(finished.segments) > SEGMENTS_EACH_MAX:
        files = len(finished.segments)
        return f"{files} files of dataset {dataset_id}, more than {SEGMENTS_EACH_MAX}"
    return next(filter(None, (part.beyond_limits(finished.results) for part in PARTS)), "")


def _calls(registrations: Sequence[_Registration]) -> Iterator[list[_Registration]]:
    """Divide registrations into calls within the limits, in order."""
    call: list[_Registration] = []
    segments = spans = size_bytes = 0
    for registration in registrations:
        own_segments, own_spans = (
            len(registration.finished.segments),
            len(registration.finished.move.spans),
        )
        own_bytes = registration.request.ByteSize()
        if call and (
            len(call) == REGISTRATIONS_MAX
            or segments + own_segments > SEGMENTS_MAX
            or spans + own_spans > SPANS_MAX
            or size_bytes + own_bytes > REQUEST_BYTES_MAX
        ):
            yield call
            call, segments, spans, size_bytes = [], 0, 0, 0
        call.append(registration)
        segments, spans = segments + own_segments, spans + own_spans
        size_bytes += own_bytes
    if call:
        yield call


def _request(
    bucket_of: BucketOf, finished: FinishedMove, client: MetaClient
) -> nursery_pb2.RegisterMergedSegmentRequest:
    move = finished.move
    segments = [
        create_segment(move.dataset_id, bucket_of(segment.key), segment.key, segment.facts)
        for segment in finished.segments
    ]
    request = nursery_pb2.RegisterMergedSegmentRequest(
        segment=segments[0] if segments else None,
        more_segments=segments[1:],
        stream_offsets=[
            nursery_pb2.StreamOffsetInfo(
                stream_id=span.offsets.stream_id,
                dataset_id=move.dataset_id,
                start_merged_offset=span.offsets.start - 1,
                new_merged_offset=span.offsets.end,
                ingest_time_nanos=span.end_time // 10**9 * 10**9,
            )
            for span in move.spans
        ],
        omit_streams=True,
    )
    for part in PARTS:
        part.state(finished.results, request, client)
    return request


def _outcome(finished: FinishedMove, answer: int | MetaError) -> Registered:
    """Count and log what meta answered: the version, or its refusal."""
    dataset_id = finished.move.dataset_id
    match answer:
        case OffsetConflict():
            metrics.NURSERY_RACES_LOST.inc()
            log.info("race_lost", dataset_id=dataset_id, found=str(answer))
        case EventsClaimed():
            return Registered(claimed=answer.positions)
        case ExcessEvents():
            return Registered(excess=str(answer))
        case ObjectCondemned() | OffsetNotCommitted() | KeyTaken() | NotFound() | LayoutChanged():
            log.info("registration_refused", dataset_id=dataset_id, reason=answer.reason)
        case MetaError():
            # The outcome is unknown until the next poll.
            log.warning("registration_failed", dataset_id=dataset_id, error=str(answer))
            return Registered(failure=f"{type(answer).__name__}: {answer}")
        case version:
            _count(finished, version)
            return Registered(version)
    return Registered()


def _count(finished: FinishedMove, version: int) -> None:
    written, spans = finished.segments, finished.move.spans
    for part in PARTS:
        part.count(finished.results, finished.move.dataset_id, version)
    if not written:
        return
    rows = sum(segment.facts.rows for segment in written)
    metrics.NURSERY_SEGMENTS.inc(len(written))
    metrics.NURSERY_RECORDS.inc(rows)
    log.info(
        "segment_registered",
        dataset_id=finished.move.dataset_id,
        version=version,
        segments=len(written),
        rows=rows,
        size_bytes=sum(segment.facts.compressed_size_bytes for segment in written),
        streams=len(spans),
        babies=sum(span.offsets.num_offsets for span in spans),
    )
