"""Stages before deletion: holds, brakes, locks, pins, backups, the retention that comes next."""

from collections.abc import Iterator
from datetime import datetime

from meta import access
from meta.services.status.holdings import Explained, holding
from meta.store.catalog.resources import ResourceKind
from meta.store.deletion import backup_sizes, deletion_brakes, retention
from meta.store.locks import resource_locks
from meta.store.pins import pin_lists
from meta.store.versions import witness_state
from meta.v1 import status_pb2 as pb


def find(explained: Explained) -> Iterator[pb.Holding]:
    """Yield what keeps segments from deletion, and what will delete them."""
    tx, dataset = explained.tx, explained.dataset
    status = witness_state.status(tx)
    if status.deletion_held:
        restored = (
            (status.restored_at_nanos, f"restored: {status.restored_reason}")
            if status.is_restored
            else (0, "")
        )
        yield holding(pb.HOLDING_STAGE_DELETION_HELD, restored[0], detail=restored[1])
    brake = deletion_brakes.find(tx, dataset.key)
    if brake is not None:
        yield holding(pb.HOLDING_STAGE_DELETION_BRAKE, brake.braked_at_nanos, amount=brake.segments)
    for lock in resource_locks.in_force(tx, ResourceKind.DATASET, [dataset.id]).values():
        yield holding(
            pb.HOLDING_STAGE_LOCKED,
            _nanos(lock.locked_at),
            until_nanos=0 if lock.ends_at is None else _nanos(lock.ends_at),
            subjects=[access.shown_subject(lock.locked_by)],
            detail=lock.reason,
        )
    pins = pin_lists.of_dataset(tx, dataset.key)
    if pins.number:
        yield holding(
            pb.HOLDING_STAGE_PINNED,
            pins.oldest_nanos,
            until_nanos=pins.last_end_nanos,
            amount=pins.number,
            detail=f"up to {pins.held_segments} deleted segments kept",
        )
    grace_secs = explained.server.settings.lifetimes.tombstone_grace
    use = backup_sizes.of_dataset(tx, dataset.key, grace_secs)
    if use.segments:
        yield holding(
            pb.HOLDING_STAGE_BACKED_UP,
            use.oldest_nanos,
            until_nanos=use.last_end_nanos,
            amount=use.segments,
            detail=f"up to {use.backups} backups keep one segment",
        )
    expires_nanos = retention.next_expiry_nanos(tx, dataset.key)
    if expires_nanos is not None:
        yield holding(pb.HOLDING_STAGE_RETENTION, until_nanos=expires_nanos)


def _nanos(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
