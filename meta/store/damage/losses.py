"""The loss ledger: records that operators have accepted to lose, kept permanently."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, bindparam, func, insert, select, text

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


class Loss(NamedTuple):
    """A row of the ledger, in the order of its columns.

    `withdrawn_version` is set once the records are back; None elsewhere as in Lost.
    """

    id: UUID
    kind: int
    stream_id: UUID | None
    offset: int | None
    dataset_id: UUID | None
    segment_id: UUID | None
    object_key: str | None
    records: int | None
    version: Version
    lost_at: datetime
    actor: str
    reason: str
    withdrawn_version: Version | None


_ALL = select(*(losses.c[name] for name in Loss._fields)).order_by(losses.c.id)
_BY_IDS = _ALL.where(losses.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_OF_BABY = _ALL.where(
    losses.c.kind == int(LossKind.BABY),
    losses.c.stream_id == bindparam("stream"),
    losses.c.offset == bindparam("offset"),
)
_OF_SEGMENT = _ALL.where(losses.c.segment_id == bindparam("segment"))
_WITHDRAW = text(
    "UPDATE losses SET withdrawn_version = :version"
    " WHERE segment_id = :segment AND withdrawn_version IS NULL"
)
_LISTED: Select[*tuple[Any, ...]] = select(
    losses.c.id,
    func.octet_length(losses.c.reason)
    + func.octet_length(losses.c.actor)
    + func.coalesce(func.octet_length(losses.c.object_key), 0),
)


def of_baby(tx: Transaction, stream_id: UUID, offset: int) -> list[Loss]:
    """The rows of a skipped baby segment; empty if it was not skipped."""
    rows = tx.execute(_OF_BABY, {"stream": stream_id, "offset": offset})
    return [Loss(*row) for row in rows]


def of_segment(tx: Transaction, segment_id: UUID) -> list[Loss]:
    """The rows of a segment, oldest first; empty if it was never hidden or replaced."""
    return [Loss(*row) for row in tx.execute(_OF_SEGMENT, {"segment": segment_id})]


def withdraw(tx: Transaction, segment_id: UUID, version: Version) -> None:
    """Record that a segment's records are back."""
    tx.execute(_WITHDRAW, {"segment": segment_id, "version": version})


def write(tx: Transaction, lost: Iterable[Lost], version: Version, acceptance: Acceptance) -> None:
    """Write rows, at the version from which on the records are missing."""
    common = {"version": version, "actor": acceptance.actor, "reason": acceptance.reason}
    tx.execute(insert(losses), [{"id": new_uuid7(), **asdict(item), **common} for item in lost])


def list_page(
    tx: Transaction, window: Window, stream_id: UUID | None, dataset_id: UUID | None
) -> Page[Loss]:
    """A page of the ledger, oldest first, of all or of one stream or dataset."""
    query = _LISTED
    if stream_id is not None:
        query = query.where(losses.c.stream_id == stream_id)
    if dataset_id is not None:
        query = query.where(losses.c.dataset_id == dataset_id)
    return keyset.read_rows(tx, query, window, _BY_IDS, Loss)
