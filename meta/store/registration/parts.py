"""The parts of a registration, in the order in which they lock and check.

Cheap checks come first. Conservation is last, because it takes from an allowance: a call that
another part refuses takes nothing.
"""

from collections.abc import Hashable, Sequence

from meta.store.engine.pool import Transaction
from meta.store.registration.bound_columns import BoundColumns
from meta.store.registration.calls import BatchCall, Merge
from meta.store.registration.conservation import Conservation
from meta.store.registration.deduplication import DeduplicatedEvents
from meta.store.registration.part import Part
from meta.store.registration.quarantined_ranges import QuarantinedRanges

PARTS: tuple[type[Part], ...] = (BoundColumns, QuarantinedRanges, DeduplicatedEvents, Conservation)
# Columns of a dataset's row that they read.
COLUMNS = tuple(name for part in PARTS for name in part.COLUMNS)


def conflict_keys(merges: Sequence[Merge]) -> list[list[Hashable]]:
    """Return the keys of parts for each call."""
    keys: list[list[Hashable]] = [[] for _ in merges]
    for part in PARTS:
        for call_keys, added in zip(keys, part.conflict_keys(merges), strict=True):
            call_keys.extend(added)
    return keys


def lock(tx: Transaction, calls: Sequence[BatchCall], kinds: Sequence[type[Part]]) -> list[Part]:
    """Make the parts of a batch, and lock what they need."""
    parts = [kind(tx, calls) for kind in kinds]
    for part in parts:
        part.lock()
    return parts
