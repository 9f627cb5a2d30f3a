"""Payloads of the quarantine that no registration counts and whose records another one holds."""

from uuid import UUID

from meta.errors import NothingToRepair
from meta.store.access import audit
from meta.store.damage.losses import Acceptance
from meta.store.damage.replays import QuarantinedPayload, check_passed
from meta.store.engine.pool import Transaction
from meta.store.registration import quarantined_ranges
from segments.keys import QuarantineKey


def is_held(tx: Transaction, name: QuarantineKey, dataset_id: UUID) -> bool:
    """Return whether an uncounted payload is needed no more: a registration holds its records.

    Raises NotDrained while a nursery may still merge its baby segment.
    """
    check_passed(tx, name)
    return quarantined_ranges.are_held(tx, dataset_id, name)


def discard(
    tx: Transaction, payload: QuarantinedPayload, dataset_id: UUID, acceptance: Acceptance
) -> None:
    """Note that an uncounted payload is deleted, whose records a registration holds.

    Raises NothingToRepair for any other, NotDrained while a nursery may still merge it.
    """
    name = payload.name
    if quarantined_ranges.are_counted(tx, [name])[0] or not is_held(tx, name, dataset_id):
        raise NothingToRepair(
            "the payload counts, or no registration holds its records",
            object_key=payload.object_key,
        )
    detail = f"held in dataset {dataset_id}, {acceptance.actor}: {acceptance.reason}"
    audit.note(tx, "DropPayload", payload.object_key, detail)
