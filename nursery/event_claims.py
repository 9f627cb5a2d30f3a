"""The identities of a move's events, as its registration names them. Pure."""

from collections.abc import Sequence
from itertools import groupby

from meta.v1 import nursery_pb2
from nursery.move_tracker import WrittenEvents


def claim_order(events: Sequence[WrittenEvents]) -> list[tuple[int, bytes, int]]:
    """List the identities in the order of the request: by day, each with its task's place first."""
    each = [
        (place, digest, day)
        for place, own in enumerate(events)
        for digest, day in zip(own.events.each, own.events.days, strict=True)
    ]
    return sorted(each, key=lambda item: item[2])


def claims_message(events: Sequence[WrittenEvents]) -> nursery_pb2.EventIdentities | None:
    """Name the identities and count the repeats; None for a dataset whose events have none."""
    if not events:
        return None
    identity = events[0].events.spec.identity
    assert identity is not None
    days = groupby(claim_order(events), key=lambda item: item[2])
    return nursery_pb2.EventIdentities(
        rule=identity.rule,
        days=[
            nursery_pb2.DayIdentities(day=day, hashes=b"".join([digest for _, digest, _ in own]))
            for day, own in days
        ],
        repeats=sum(own.events.repeats for own in events),
    )
