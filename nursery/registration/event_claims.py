"""The identities of a move's events, as its registration names them."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from meta.client import MetaClient
from meta.v1 import nursery_pb2, operations_pb2
from nursery.registration.move_tracker import WrittenEvents
from segments.event_identity import IDENTITIES_MAX
from segments.ids import new_uuid7

# A part is looked up and claimed in five to ten seconds of a server that is not busy.
PART_SECS = 60.0


def claim_order(events: Sequence[WrittenEvents]) -> list[tuple[int, bytes, int]]:
    """List the identities in the order of the request: by day, each with its task's place first."""
    each = [
        (place, digest, day)
        for place, own in enumerate(events)
        for digest, day in zip(own.events.each, own.events.days, strict=True)
    ]
    return sorted(each, key=lambda item: item[2])


def claims_message(
    client: MetaClient, events: Sequence[WrittenEvents]
) -> nursery_pb2.EventIdentities | None:
    """Name the identities and count the repeats; None for a dataset whose events have none.

    More than a message holds are stored at meta before it, in parts. Raises MetaError.
    """
    if not events:
        return None
    identity = events[0].events.spec.identity
    assert identity is not None
    message = nursery_pb2.EventIdentities(
        rule=identity.rule, repeats=sum(own.events.repeats for own in events)
    )
    order = claim_order(events)
    if len(order) <= IDENTITIES_MAX:
        message.days.extend(_days(order))
        return message
    message.staged_id = str(new_uuid7())
    for start in range(0, len(order), IDENTITIES_MAX):
        client.operations.StageIdentities(
            operations_pb2.StageIdentitiesRequest(
                staged_id=message.staged_id,
                part=message.staged_parts,
                days=_days(order[start : start + IDENTITIES_MAX]),
            )
        )
        message.staged_parts += 1
    return message


def deadline_secs(messages: Iterable[nursery_pb2.EventIdentities]) -> float | None:
    """The time that a call with these identities may take; None = as others."""
    return PART_SECS * sum(message.staged_parts for message in messages) or None


def _days(order: Sequence[tuple[int, bytes, int]]) -> list[nursery_pb2.DayIdentities]:
    return [
        nursery_pb2.DayIdentities(day=day, hashes=b"".join([digest for _, digest, _ in own]))
        for day, own in groupby(order, key=lambda item: item[2])
    ]
