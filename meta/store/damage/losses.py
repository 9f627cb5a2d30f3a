"""The loss ledger: records that operators have accepted to lose, kept permanently."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, bindparam, func, insert, select, update

from meta.store.engine import keyset
from meta.store.engine.keyset import Page, Window
from meta.store.engine.pool import Transaction
from meta.store.tables.damage import losses
from meta.store.versions.versions import Version
from segments.ids import new_uuid7


class LossKind(IntEnum):
    """Kind of object that was given up, as in the proto."""

    BABY = 1
    SEGMENT = 2
    PAYLOAD = 3


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The person that accepts a loss, and the reason."""

    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Records to be written off; None = not known or not of this kind."""

    kind: LossKind
    stream_id: UUID | None = None
    offset: int | None = None
    dataset_id: UUID | None = None
    segment_id: UUID | None = None
    object_key: str | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """A row of the ledger; `withdrawn_version` is set once the records are back."""

    id: UUID
    lost: Lost
    version: Version
    lost_at: datetime
    actor: str
    reason: str
    withdrawn_version: Version | None


_COLUMNS = (
    losses.c.id,
    losses.c.kind,
    losses.c.stream_id,
    losses.c.offset,
    losses.c.dataset_id,
    losses.c.segment_id,
    losses.c.object_key,
    losses.c.records,
    losses.c.version,
    losses.c.lost_at,
    losses.c.actor,
    losses.c.reason,
    losses.c.withdrawn_version,
)
_ALL: Select[*tuple[Any, ...]] = select(*_COLUMNS).order_by(losses.c.id)
_BY_IDS = _ALL.where(losses.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_OF_BABY = _ALL.where(
    losses.c.kind == int(LossKind.BABY),
    losses.c.stream_id == bindparam("stream"),
    losses.c.offset == bindparam("offset"),
)
_OF_SEGMENT = _ALL.where(losses.c.segment_id == bindparam("segment"))
_WITHDRAW = (
    update(losses)
    .where(losses.c.segment_id == bindparam("segment"), losses.c.withdrawn_version.is_(None))
    .values(withdrawn_version=bindparam("at_version"))
)
_INSERT = insert(losses)
_LISTED: Select[*tuple[Any, ...]] = select(
    losses.c.id,
    func.octet_length(losses.c.reason)
    + func.octet_length(losses.c.actor)
    + func.coalesce(func.octet_length(losses.c.object_key), 0),
)


def of_baby(tx: Transaction, stream_id: UUID, offset: int) -> list[Loss]:
    """The rows of a skipped baby segment; empty if it was not skipped."""
    rows = tx.execute(_OF_BABY, {"stream": stream_id, "offset": offset})
    return [_loss(row) for row in rows]


def of_segment(tx: Transaction, segment_id: UUID) -> list[Loss]:
    """The rows of a segment, oldest first; empty if it was never hidden or replaced."""
    return [_loss(row) for row in tx.execute(_OF_SEGMENT, {"segment": segment_id})]


def withdraw(tx: Transaction, segment_id: UUID, version: Version) -> None:
    """Record that a segment's records are back."""
    tx.execute(_WITHDRAW, {"segment": segment_id, "at_version": version})


def write(tx: Transaction, lost: Iterable[Lost], version: Version, acceptance: Acceptance) -> None:
    """Write rows, at the version from which on the records are missing."""
    rows = [
        {
            "id": new_uuid7(),
            "kind": int(item.kind),
            "stream_id": item.stream_id,
            "offset": item.offset,
            "dataset_id": item.dataset_id,
            "segment_id": item.segment_id,
            "object_key": item.object_key,
            "records": item.records,
            "version": version,
            "actor": acceptance.actor,
            "reason": acceptance.reason,
        }
        for item in lost
    ]
    tx.execute(_INSERT, rows)


def list_page(
    tx: Transaction, window: Window, stream_id: UUID | None, dataset_id: UUID | None
) -> Page[Loss]:
    """A page of the ledger, oldest first, of all or of one stream or dataset."""
    query, values = _LISTED, dict[str, Any]()
    if stream_id is not None:
        query, values["stream"] = query.where(losses.c.stream_id == bindparam("stream")), stream_id
    if dataset_id is not None:
        query = query.where(losses.c.dataset_id == bindparam("dataset"))
        values["dataset"] = dataset_id
    page = keyset.read(tx, query, window, values)
    by_id = {row.id: _loss(row) for row in tx.execute(_BY_IDS, {"ids": list(page.ids)})}
    return page.map(by_id.__getitem__)


def _loss(row: Any) -> Loss:
    lost = Lost(LossKind(row[1]), *row[2:8])
    return Loss(row[0], lost, row[8], row[9], row[10], row[11], row[12])
