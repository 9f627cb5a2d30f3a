"""The part of a registration that keeps each event a row once: its keys, and duplicates."""

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from meta.errors import (
    DeduplicationKeysRequired,
    EventsClaimed,
    EventsOutsideWindow,
    InvalidArgument,
    LayoutChanged,
    MetaError,
    NotFound,
)
from meta.store.deduplication import staging, windows
from meta.store.deduplication.staging import StagedParts
from meta.store.deduplication.windows import DayKeys, DeduplicationWindow
from meta.store.engine.pool import Transaction
from meta.store.registration.calls import Merge
from meta.store.registration.part import Part
from segments.deduplication import HASH_BYTES, EventWindow

FIELD = "deduplication_keys"
# Positions of claimed deduplication keys in the metadata of a refusal: 7 KB.
NAMED_POSITIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class EventClaims:
    """Deduplication keys that a registration claims, by the rule that they were made by.

    Each is named once. `duplicates` are the records of the baby segments that the segments omit
    because their events are rows already. `staged` are parts that come before `days`.
    """

    rule: int
    days: tuple[DayKeys, ...] = ()
    duplicates: int = 0
    staged: StagedParts | None = None
    # Whether a dataset that refuses events outside its window takes them.
    takes_outside: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look up or to count."""
        return not self.days and not self.duplicates and self.staged is None

    def parts(self, tx: Transaction) -> Iterator[Sequence[DayKeys]]:
        """Read the deduplication keys, as many at a time as a message holds."""
        if self.staged is not None:
            yield from staging.read(tx, self.staged)
        yield self.days


class DeduplicatedEvents(Part):
    """Claims of deduplication keys. A batch has a dataset of calls that claim some once."""

    COLUMNS = ("deduplication_rule",)

    @classmethod
    def conflict_keys(cls, merges: Sequence[Merge]) -> Sequence[Sequence[Hashable]]:
        """The claims of a dataset, if a call claims or counts."""
        return [[(FIELD, merge.dataset_id)] if _claims_some(merge) else [] for merge in merges]

    def lock(self) -> None:
        """Lock the claims of live datasets of calls that claim or count, in their order."""
        keys = {
            call.merge.dataset_id: call.dataset.key
            for call in self._calls
            if call.dataset is not None and _claims_some(call.merge)
        }
        self._windows = {
            dataset_id: windows.lock_window(self._tx, keys[dataset_id])
            for dataset_id in sorted(keys)
        }

    def check(self) -> None:
        """Refuse claims by another rule than the dataset's, and of keys that are claimed."""
        for call in self._calls:
            if not call.is_open or call.dataset is None:
                continue
            claims, rule = claims_of(call.merge), call.dataset.columns["deduplication_rule"]
            if claims is not None:
                window = self._windows.get(call.merge.dataset_id)
                call.answer = _refusal(self._tx, call.merge.dataset_id, claims, rule, window)
            elif rule is not None and call.merge.segments:
                call.answer = _unnamed(call.merge)

    def write(self) -> None:
        """Claim the deduplication keys of open calls, and remove the parts of others."""
        for call in self._calls:
            claims = claims_of(call.merge)
            if claims is None:
                continue
            window = self._windows.get(call.merge.dataset_id)
            if not call.is_open:
                # Another try stores its own.
                forget_parts(self._tx, claims)
            elif window is not None and not claims.is_empty:
                claim(self._tx, claims, window)

    @classmethod
    def describe(cls, merge: Merge) -> Mapping[str, object]:
        """The number of records that the segments omit."""
        duplicates = duplicates_of(merge)
        return {"duplicates": duplicates} if duplicates else {}


def claims_of(merge: Merge) -> EventClaims | None:
    """The claims that a call states; None if it states none."""
    claims = merge.stated.get(FIELD)
    assert claims is None or isinstance(claims, EventClaims)
    return claims


def duplicates_of(merge: Merge) -> int:
    """Records of the baby segments that the segments of a call omit."""
    claims = claims_of(merge)
    return 0 if claims is None else claims.duplicates


def _claims_some(merge: Merge) -> bool:
    claims = claims_of(merge)
    return claims is not None and not claims.is_empty


def _unnamed(merge: Merge) -> MetaError:
    """The refusal of segments without deduplication keys: a nursery reads the layout again."""
    if merge.moves:
        return LayoutChanged(
            "the dataset is deduplicated, and the call names no deduplication keys",
            dataset_id=merge.dataset_id,
        )
    return DeduplicationKeysRequired(
        "the dataset is deduplicated (deduplication), and this call names no deduplication keys"
    )


def _refusal(
    tx: Transaction,
    dataset_id: UUID,
    claims: EventClaims,
    rule: int | None,
    window: DeduplicationWindow | None,
) -> MetaError | None:
    """The refusal of claims; `rule` is None where each record is a row.

    Parts that are not there are refused too, and deduplication keys outside the window of a
    dataset that refuses such, or named twice.
    """
    if claims.rule != rule or (window is None and not claims.is_empty):
        return LayoutChanged(
            "events have other deduplication keys now, or none", dataset_id=dataset_id
        )
    if claims.staged is not None and not staging.lock(tx, claims.staged):
        return NotFound(
            "staged deduplication keys are not there: stage them again", dataset_id=dataset_id
        )
    parts = list(claims.parts(tx))
    if claims.staged is not None and _is_named_twice(parts):
        # No part of the call is claimed yet, so the look-up does not tell which.
        return InvalidArgument(
            "a deduplication key is in two parts", field="deduplication_keys.staged_id"
        )
    if window is not None and window.refuses_outside and not claims.takes_outside:
        days = {day.day for part in parts for day in part}
        outside = sorted(day for day in days if not window.has(day))
        if outside:
            window_text = EventWindow(window.first, window.last).text
            return EventsOutsideWindow(
                f"events of {EventWindow(outside[0], outside[-1]).text} are outside the window of"
                f" the dataset, {window_text}",
                dataset_id=dataset_id,
            )
    claimed = _find_claimed(tx, window, parts) if window is not None else []
    return _claimed(dataset_id, claimed) if claimed else None


def _is_named_twice(parts: Iterable[Sequence[DayKeys]]) -> bool:
    """Whether two parts name one deduplication key; each by itself names none twice.

    Sorted and packed: as a set, the most that there may be would take 300 MB.
    """
    packed = [b"".join(sorted(_each(b"".join(d.hashes for d in days)))) for days in parts]
    return any(first == second for first, second in pairwise(heapq.merge(*map(_each, packed))))


def _each(hashes: bytes) -> Iterator[bytes]:
    return (hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))


def _find_claimed(
    tx: Transaction, window: DeduplicationWindow, parts: Iterable[Sequence[DayKeys]]
) -> list[int]:
    """The positions, over all parts, of the deduplication keys that were claimed before."""
    from meta.store.deduplication import claiming

    claimed, first = list[int](), 0
    for days in parts:
        claimed += [first + index for index in claiming.find_claimed(tx, window, days)]
        first += sum(day.number for day in days)
    return claimed


def claim(tx: Transaction, claims: EventClaims, window: DeduplicationWindow) -> None:
    """Claim the deduplication keys, none of which is claimed, and count the duplicates."""
    from meta.store.deduplication import claiming

    for days in claims.parts(tx):
        claiming.claim(tx, window, days)
    forget_parts(tx, claims)
    windows.add_duplicates(tx, window, claims.duplicates)


def forget_parts(tx: Transaction, claims: EventClaims) -> None:
    """Remove the parts of a call that was decided; another try stores its own."""
    if claims.staged is not None:
        staging.remove(tx, claims.staged)


def claim_rows(
    tx: Transaction, dataset_id: UUID, claims: EventClaims, dataset_key: int, rule: int | None
) -> int:
    """Claim those deduplication keys of rows that are not claimed yet; returns how many.

    The caller holds the dataset. Raises LayoutChanged for another rule than the dataset's.
    """
    from meta.store.deduplication import claiming

    window = windows.lock_window(tx, dataset_key)
    if window is None or claims.rule != rule:
        raise LayoutChanged(
            "events have other deduplication keys now, or none", dataset_id=dataset_id
        )
    claimed = set(claiming.find_claimed(tx, window, claims.days))
    remaining, position = [], 0
    for day in claims.days:
        row_digests = [
            day.hashes[index * HASH_BYTES : (index + 1) * HASH_BYTES]
            for index in range(day.number)
            if position + index not in claimed
        ]
        position += day.number
        if row_digests and window.has(day.day):
            remaining.append(DayKeys(day.day, b"".join(row_digests)))
    claiming.claim(tx, window, remaining)
    return sum(day.number for day in remaining)


def _claimed(dataset_id: UUID, claimed: Sequence[int]) -> EventsClaimed:
    error = EventsClaimed(
        f"{len(claimed)} events are rows already",
        dataset_id=dataset_id,
        claimed=len(claimed),
        positions=",".join(map(str, claimed[:NAMED_POSITIONS_MAX])),
    )
    error.positions = claimed
    return error
