"""The part of a registration that keeps each event a row once: its identities, and repeats."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from meta.errors import (
    EventsClaimed,
    EventsOutsideWindow,
    IdentitiesRequired,
    InvalidArgument,
    LayoutChanged,
    MetaError,
    NotFound,
)
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.registration import identities, staged_identities
from meta.store.registration.identities import DayIdentities, IdentityWindow
from meta.store.registration.staged_identities import StagedParts
from segments.event_identity import HASH_BYTES, EventWindow

# Positions of claimed identities in the metadata of a refusal: 7 KB.
NAMED_POSITIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class EventClaims:
    """Identities that a registration claims, by the rule that they were made by.

    Each is named once. `repeats` are the records of the baby segments that the segments leave out
    because their events are rows already. `staged` are parts that come before `days`.
    """

    rule: int
    days: tuple[DayIdentities, ...] = ()
    repeats: int = 0
    staged: StagedParts | None = None
    # Whether a dataset that refuses events outside its window takes them.
    takes_outside: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look up or to count."""
        return not self.days and not self.repeats and self.staged is None

    def parts(self, tx: Transaction) -> Iterator[Sequence[DayIdentities]]:
        """Read the identities, as many at a time as a message holds."""
        if self.staged is not None:
            yield from staged_identities.read(tx, self.staged)
        yield self.days


def lock_windows(
    tx: Transaction, claims_by_dataset: Mapping[UUID, EventClaims], keys: Mapping[UUID, int]
) -> dict[UUID, IdentityWindow]:
    """Lock the claims of the live datasets of calls that claim or count, in the order of datasets.

    `keys` are of live datasets. Those whose events have no identity are left out.
    """
    named_ids = {
        dataset_id for dataset_id, claims in claims_by_dataset.items() if not claims.is_empty
    }
    windows = {
        dataset_id: identities.lock_window(tx, keys[dataset_id])
        for dataset_id in sorted(named_ids & keys.keys())
    }
    return {dataset_id: window for dataset_id, window in windows.items() if window is not None}


def refusal(
    tx: Transaction,
    dataset_id: UUID,
    claims: EventClaims | None,
    rule: int | None,
    window: IdentityWindow | None,
    *,
    has_segments: bool,
) -> MetaError | None:
    """The refusal of claims by another rule than the dataset's, and of identities that are claimed.

    `rule` is None where each record is a row. Parts that are not there are refused too, and
    identities of events outside the window of a dataset that refuses such, or named twice.
    """
    if claims is None:
        if rule is None or not has_segments:
            return None
        return LayoutChanged(
            "the dataset has each event once, and the call names no identities",
            dataset_id=dataset_id,
        )
    if claims.rule != rule or (window is None and not claims.is_empty):
        return LayoutChanged("events have other identities now, or none", dataset_id=dataset_id)
    if claims.staged is not None and not staged_identities.lock(tx, claims.staged):
        return NotFound("staged identities are not there: stage them again", dataset_id=dataset_id)
    if claims.staged is not None and _is_named_twice(claims.parts(tx)):
        # Of the parts of one call none is claimed yet, so the look-up finds nothing of it.
        return InvalidArgument("an identity is in two parts", field="identities.staged_id")
    if window is not None and window.refuses_outside and not claims.takes_outside:
        outside = sorted({day for day in _days(tx, claims) if not window.has(day)})
        if outside:
            window_text = EventWindow(window.first, window.last).text
            return EventsOutsideWindow(
                f"events of {EventWindow(outside[0], outside[-1]).text} are outside the window of"
                f" the dataset, {window_text}",
                dataset_id=dataset_id,
            )
    claimed = _find_claimed(tx, window, claims) if window is not None else []
    return _claimed(dataset_id, claimed) if claimed else None


def _is_named_twice(parts: Iterable[Sequence[DayIdentities]]) -> bool:
    """Whether two parts name one identity; each by itself names none twice.

    Sorted and packed: as a set, the most that there may be would take 300 MB.
    """
    packed = [b"".join(sorted(_each(b"".join(d.hashes for d in days)))) for days in parts]
    return any(first == second for first, second in pairwise(heapq.merge(*map(_each, packed))))


def _each(hashes: bytes) -> Iterator[bytes]:
    return (hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))


def _days(tx: Transaction, claims: EventClaims) -> list[int]:
    """The days of the identities of all parts."""
    staged = [] if claims.staged is None else staged_identities.days(tx, claims.staged)
    return [*staged, *(day.day for day in claims.days)]


def _find_claimed(tx: Transaction, window: IdentityWindow, claims: EventClaims) -> list[int]:
    """The positions, over all parts, of the identities that were claimed before."""
    from meta.store.registration import identity_claims

    claimed, first = list[int](), 0
    for days in claims.parts(tx):
        claimed += [first + place for place in identity_claims.find_claimed(tx, window, days)]
        first += sum(day.number for day in days)
    return claimed


def claim(tx: Transaction, claims: EventClaims, window: IdentityWindow) -> None:
    """Claim the identities, none of which is claimed, and count the repeats."""
    from meta.store.registration import identity_claims

    for days in claims.parts(tx):
        identity_claims.claim(tx, window, days)
    forget_parts(tx, claims)
    identities.add_repeats(tx, window, claims.repeats)


def forget_parts(tx: Transaction, claims: EventClaims) -> None:
    """Remove the parts of a call that was decided; another try stores its own."""
    if claims.staged is not None:
        staged_identities.remove(tx, claims.staged)


def claim_rows(
    tx: Transaction, dataset_id: UUID, claims: EventClaims, dataset_key: int, rule: int | None
) -> int:
    """Claim those identities of rows that are not claimed yet; returns how many.

    The caller holds the dataset. Raises LayoutChanged for another rule than the dataset's.
    """
    from meta.store.registration import identity_claims

    window = identities.lock_window(tx, dataset_key)
    if window is None or claims.rule != rule:
        raise LayoutChanged("events have other identities now, or none", dataset_id=dataset_id)
    claimed = set(identity_claims.find_claimed(tx, window, claims.days))
    left, position = [], 0
    for day in claims.days:
        own = [
            day.hashes[place * HASH_BYTES : (place + 1) * HASH_BYTES]
            for place in range(day.number)
            if position + place not in claimed
        ]
        position += day.number
        if own and window.has(day.day):
            left.append(DayIdentities(day.day, b"".join(own)))
    identity_claims.claim(tx, window, left)
    return sum(day.number for day in left)


def claim_named(
    tx: Transaction, dataset_id: UUID, claims: EventClaims | None, *, has_segments: bool
) -> None:
    """Claim the identities that a call of its own names, as a registration does.

    Raises LayoutChanged, EventsOutsideWindow, EventsClaimed, NotFound, IdentitiesRequired,
    InvalidArgument.
    """
    if claims is None:
        refuse_unnamed(tx, [dataset_id])
        return
    rule, window = datasets.get(tx, dataset_id).identity_rule, lock_one(tx, dataset_id, claims)
    refused = refusal(tx, dataset_id, claims, rule, window, has_segments=has_segments)
    if refused is not None:
        raise refused
    if window is not None:
        claim(tx, claims, window)


def lock_one(tx: Transaction, dataset_id: UUID, claims: EventClaims) -> IdentityWindow | None:
    """Lock a dataset against deletion, and its claims if there are some in the call."""
    keys = datasets.lock_shared(tx, [dataset_id])
    return lock_windows(tx, {dataset_id: claims}, keys).get(dataset_id)


def refuse_unnamed(tx: Transaction, dataset_ids: Iterable[UUID]) -> None:
    """Refuse segments by a call that names no identities, for locked datasets that need them.

    Raises IdentitiesRequired.
    """
    if datasets.identity_rules(tx, dataset_ids):
        raise IdentitiesRequired(
            "the dataset has each event once (event_identity), and this call names no identities"
        )


def _claimed(dataset_id: UUID, claimed: Sequence[int]) -> EventsClaimed:
    error = EventsClaimed(
        f"{len(claimed)} events are rows already",
        dataset_id=dataset_id,
        claimed=len(claimed),
        positions=",".join(map(str, claimed[:NAMED_POSITIONS_MAX])),
    )
    error.positions = claimed
    return error
