"""The deduplication keys of a move's events, as its registration states them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import structlog

from dataplane.babies.deduplication import SeenEvents
from meta.client import MetaClient
from meta.v1 import nursery_pb2, operations_pb2
from nursery import metrics
from nursery.parts.part import StatedPart
from nursery.results import DatasetResult
from segments.deduplication import CLAIMS_MAX, DEDUPLICATION_KEYS_MAX, HASH_BYTES
from segments.ids import new_uuid7
from segments.parquet.spec import SegmentSpec
from segments.parquet.upload import WrittenSegment

log = structlog.get_logger()
FIELD = "deduplication_keys"
# A part is looked up and claimed in five to ten seconds of a server that is not busy.
PART_SECS = 60.0


@dataclass(frozen=True, slots=True)
class TaskEvents:
    """The deduplication keys in one task's segments of a dataset, each once.

    `hashes` has them one after the other, `days` their UTC days since 1970, and `babies` the place
    of each one's baby in `baby_ids`. `duplicates` are records that are skipped because their event
    is a row of these segments, or one already. `without` are rows without a deduplication key.
    """

    spec: SegmentSpec
    hashes: bytes
    days: Sequence[int]
    babies: Sequence[int]
    baby_ids: tuple[tuple[str, int], ...]
    duplicates: int = 0
    without: int = 0

    @property
    def each(self) -> list[bytes]:
        """The deduplication keys."""
        return [self.hashes[at : at + HASH_BYTES] for at in range(0, len(self.hashes), HASH_BYTES)]

    @property
    def number(self) -> int:
        """The number of deduplication keys."""
        return len(self.hashes) // HASH_BYTES


def gathered(spec: SegmentSpec, events: SeenEvents) -> TaskEvents:
    """Return what a task has seen of a dataset's events."""
    return TaskEvents(
        spec,
        events.hashes,
        events.days,
        events.babies,
        events.baby_ids,
        events.duplicates,
        events.without,
    )


def events_of(result: DatasetResult) -> TaskEvents | None:
    """Return the events of a task; None for a dataset whose events have no deduplication key."""
    events = result.stated.get(FIELD)
    assert events is None or isinstance(events, TaskEvents)
    return events


def with_events(
    result: DatasetResult, segments: tuple[WrittenSegment, ...], events: TaskEvents
) -> DatasetResult:
    """Return a result with other segments and events."""
    return replace(result, segments=segments, stated={**result.stated, FIELD: events})


def claim_order(results: Sequence[DatasetResult]) -> list[tuple[int, bytes, int]]:
    """List the keys in the order of the request: by day, each with its task's place first."""
    each = [
        (index, digest, day)
        for index, events in enumerate(map(events_of, results))
        if events is not None
        for digest, day in zip(events.each, events.days, strict=True)
    ]
    return sorted(each, key=lambda item: item[2])


def claims_message(
    client: MetaClient, results: Sequence[DatasetResult]
) -> nursery_pb2.DeduplicationKeys | None:
    """Name the keys and count the duplicates; None for a dataset whose events have none.

    More than a message holds are stored at meta before it, in parts. Raises MetaError.
    """
    events = _all_events(results)
    if not events:
        return None
    deduplication = events[0].spec.deduplication
    assert deduplication is not None
    message = nursery_pb2.DeduplicationKeys(
        rule=deduplication.rule, duplicates=sum(task.duplicates for task in events)
    )
    order = claim_order(results)
    if len(order) <= DEDUPLICATION_KEYS_MAX:
        message.days.extend(_days(order))
        return message
    message.staged_id = str(new_uuid7())
    for start in range(0, len(order), DEDUPLICATION_KEYS_MAX):
        client.operations.StageDeduplicationKeys(
            operations_pb2.StageDeduplicationKeysRequest(
                staged_id=message.staged_id,
                part=message.staged_parts,
                days=_days(order[start : start + DEDUPLICATION_KEYS_MAX]),
            )
        )
        message.staged_parts += 1
    return message


def claim_secs(message: nursery_pb2.DeduplicationKeys) -> float:
    """The time that claims in parts may take; 0 = no more than a call without any."""
    return PART_SECS * message.staged_parts


class DeduplicationPart(StatedPart):
    """Names the deduplication keys that the registration claims, and counts the duplicates."""

    FIELD = FIELD

    def state(
        self,
        results: Sequence[DatasetResult],
        request: nursery_pb2.RegisterMergedSegmentRequest,
        client: MetaClient,
    ) -> None:
        """Name the deduplication keys; raises MetaError if parts of them cannot be stored."""
        message = claims_message(client, results)
        if message is not None:
            request.deduplication_keys.CopyFrom(message)

    def beyond_limits(self, results: Sequence[DatasetResult]) -> str:
        """Name too many events."""
        deduplication_keys = sum(events.number for events in _all_events(results))
        if deduplication_keys <= CLAIMS_MAX:
            return ""
        return (
            f"{deduplication_keys} events of dataset {results[0].dataset_id},"
            f" more than {CLAIMS_MAX}"
        )

    def timeout_secs(self, request: nursery_pb2.RegisterMergedSegmentRequest) -> float:
        """The time for deduplication keys that came in parts."""
        return claim_secs(request.deduplication_keys)

    def count(self, results: Sequence[DatasetResult], dataset_id: str, version: int) -> None:
        """Count the duplicates."""
        events = _all_events(results)
        if not events:
            return
        duplicates = sum(task.duplicates for task in events)
        metrics.NURSERY_DUPLICATES.inc(duplicates)
        log.info(
            "events_registered",
            dataset_id=dataset_id,
            version=version,
            duplicates=duplicates,
            without_deduplication_key=sum(task.without for task in events),
        )


def _all_events(results: Sequence[DatasetResult]) -> list[TaskEvents]:
    return [events for events in map(events_of, results) if events is not None]


def _days(order: Sequence[tuple[int, bytes, int]]) -> list[nursery_pb2.DayKeys]:
    return [
        nursery_pb2.DayKeys(day=day, hashes=b"".join([digest for _, digest, _ in events_of_day]))
        for day, events_of_day in groupby(order, key=lambda item: item[2])
    ]
