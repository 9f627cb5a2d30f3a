"""Checks of the identities of events that a registration names."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.registration.event_claims import EventClaims
from meta.store.registration.identities import DayIdentities
from meta.v1 import nursery_pb2
from segments.event_identity import HASH_BYTES, IDENTITIES_MAX

# The days that 64 bits of nanoseconds reach.
DAYS_MAX = 106_752


def checked_claims(message: nursery_pb2.EventIdentities, field: str) -> EventClaims:
    """Check identities of a registration. Raises InvalidArgument."""
    repeats = checks.count(message.repeats, f"{field}.repeats", high=checks.EVENTS_MAX)
    hashes = [day.hashes for day in message.days]
    checks.count(sum(map(len, hashes)) // HASH_BYTES, f"{field}.days.hashes", high=IDENTITIES_MAX)
    for index, day in enumerate(message.days):
        checks.count(day.day, f"{field}.days[{index}].day", low=-DAYS_MAX, high=DAYS_MAX)
        if not day.hashes or len(day.hashes) % HASH_BYTES:
            raise InvalidArgument(
                f"it has {len(day.hashes)} bytes, not {HASH_BYTES} for each of some identities",
                field=f"{field}.days[{index}].hashes",
            )
    checks.distinct([day.day for day in message.days], f"{field}.days.day")
    joined = b"".join(hashes)
    each = [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]
    if len(set(each)) < len(each):
        raise InvalidArgument("an identity is named twice", field=f"{field}.days.hashes")
    days = tuple([DayIdentities(day.day, day.hashes) for day in message.days])
    return EventClaims(checks.count(message.rule, f"{field}.rule"), days, repeats)
