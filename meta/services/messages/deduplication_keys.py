"""Deduplication keys in messages: that of a dataset, and checks of those of a registration."""

from collections.abc import Sequence

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.catalog.datasets import Dataset
from meta.store.deduplication.staging import StagedParts
from meta.store.deduplication.windows import DayKeys
from meta.store.registration.deduplication import EventClaims
from meta.v1 import common_pb2, nursery_pb2
from segments.deduplication import DEDUPLICATION_KEYS_MAX, HASH_BYTES, STAGED_PARTS_MAX, EventWindow

# The days that 64 bits of nanoseconds reach.
DAYS_MAX = 106_752


def checked_claims(message: nursery_pb2.DeduplicationKeys, field: str) -> EventClaims:
    """Check deduplication keys of a registration. Raises InvalidArgument."""
    duplicates = checks.count(message.duplicates, f"{field}.duplicates", high=checks.EVENTS_MAX)
    days = checked_days(message.days, f"{field}.days")
    return EventClaims(
        checks.count(message.rule, f"{field}.rule"), days, duplicates, _staged(message, field)
    )


def checked_days(messages: Sequence[nursery_pb2.DayKeys], field: str) -> tuple[DayKeys, ...]:
    """Check the deduplication keys of one message. Raises InvalidArgument."""
    hashes = [day.hashes for day in messages]
    checks.count(
        sum(map(len, hashes)) // HASH_BYTES, f"{field}.hashes", high=DEDUPLICATION_KEYS_MAX
    )
    for index, day in enumerate(messages):
        checks.count(day.day, f"{field}[{index}].day", low=-DAYS_MAX, high=DAYS_MAX)
        if not day.hashes or len(day.hashes) % HASH_BYTES:
            raise InvalidArgument(
                f"it has {len(day.hashes)} bytes, not {HASH_BYTES} for each of some keys",
                field=f"{field}[{index}].hashes",
            )
    checks.distinct([day.day for day in messages], f"{field}.day")
    joined = b"".join(hashes)
    each = [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]
    if len(set(each)) < len(each):
        raise InvalidArgument("a deduplication key is named twice", field=f"{field}.hashes")
    return tuple([DayKeys(day.day, day.hashes) for day in messages])


def deduplication_message(dataset: Dataset, window: EventWindow | None) -> common_pb2.Deduplication:
    """The deduplication key of a dataset's events; `window` if it refuses events outside."""
    message = common_pb2.Deduplication(
        column=dataset.deduplication_column, rule=dataset.deduplication_rule or 0
    )
    if window is not None:
        message.outside_window = common_pb2.OUTSIDE_WINDOW_REFUSE
        message.window.first_day, message.window.last_day = window.first_day, window.last_day
    return message


def _staged(message: nursery_pb2.DeduplicationKeys, field: str) -> StagedParts | None:
    if not message.staged_id and not message.staged_parts:
        return None
    parts = checks.count(
        message.staged_parts, f"{field}.staged_parts", low=1, high=STAGED_PARTS_MAX
    )
    return StagedParts(checks.uuid(message.staged_id, f"{field}.staged_id"), parts)
