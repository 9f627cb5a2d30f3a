"""Tells meta what was merged: one call per dataset, all of its segments at one version."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from meta import metrics
from meta.client import MetaClient
from meta.errors import (
    ExcessEvents,
    KeyTaken,
    MetaError,
    NotFound,
    ObjectCondemned,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.v1 import common_pb2, nursery_pb2
from nursery.planner import DatasetMove
from nursery.results import WrittenSegment
from segplane.dataplane.registration import create_segment

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Registered:
    """The outcome of a registration.

    `response_seq` is None if the move was refused: another nursery merged the same babies first, or
    the state moved on. What was written for it is garbage then, and the janitor's. `excess` is
    meta's message if an operator has to decide.
    """

    response_seq: int | None = None
    excess: str = ""


def register(
    client: MetaClient,
    bucket: common_pb2.CloudBucket,
    move: DatasetMove,
    written: Sequence[WrittenSegment],
) -> Registered:
    """Make segments visible and move the offsets; without segments, the offsets alone."""
    segments = [
        create_segment(move.dataset_id, bucket, segment.key, segment) for segment in written
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
    )
    try:
        reply = client.nursery.RegisterMergedSegment(request)
    except OffsetConflict as error:
        metrics.NURSERY_RACES_LOST.inc()
        log.info("race_lost", dataset_id=move.dataset_id, found=str(error))
        return Registered()
    except ExcessEvents as error:
        return Registered(excess=str(error))
    except (ObjectCondemned, OffsetNotCommitted, KeyTaken, NotFound) as error:
        log.info("registration_refused", dataset_id=move.dataset_id, reason=error.reason)
        return Registered()
    except MetaError as error:
        # The outcome is unknown; the next poll tells.
        log.warning("registration_failed", dataset_id=move.dataset_id, error=str(error))
        return Registered()
    _count(move, written, reply.segment_version)
    return Registered(reply.response_seq)


def _count(move: DatasetMove, written: Sequence[WrittenSegment], version: int) -> None:
    if not written:
        return
    rows = sum(segment.rows for segment in written)
    metrics.NURSERY_SEGMENTS.inc(len(written))
    metrics.NURSERY_RECORDS.inc(rows)
    log.info(
        "segment_registered",
        dataset_id=move.dataset_id,
        version=version,
        segments=len(written),
        rows=rows,
        size_bytes=sum(segment.compressed_size_bytes for segment in written),
        streams=len(move.spans),
        babies=sum(span.offsets.num_offsets for span in move.spans),
    )
