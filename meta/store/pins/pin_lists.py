"""Lists and totals of pins and of the segments that they hold."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, literal_column, select, text

from meta import access
from meta.store.catalog import shown_names
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.pins.pins import PIN_COLUMNS, PinRow, is_operator
from meta.store.tables.catalog import datasets
from meta.store.tables.readers import pins
from meta.store.versions.clock import NOW


@dataclass(frozen=True, slots=True)
class PinTotals:
    """Pins whose lease lasts; the age is that of the oldest, in seconds."""

    number: int
    held_bytes: int
    oldest_secs: float


@dataclass(frozen=True, slots=True)
class DatasetPins:
    """Pins of one dataset whose lease lasts, and most segments that one of them holds.

    Times are in nanoseconds, 0 without a pin.
    """

    number: int
    held_segments: int
    oldest_nanos: int
    last_end_nanos: int


# True of a segment `s` that a pin holds, unless its loss is accepted.
HELD = f"""
    EXISTS (SELECT FROM pins p JOIN datasets home ON home.key = p.dataset_key
            WHERE p.dataset_key = s.dataset_key
              AND (p.holds_changes OR p.version >= s.created_version)
              AND (s.tombstone_version IS NULL OR p.version < s.tombstone_version)
              AND p.expires_at > {NOW}
              AND home.pins_horizon IS NOT DISTINCT FROM home.deletion_horizon)
    AND NOT EXISTS (SELECT FROM losses l WHERE l.segment_id = s.id)
"""  # noqa: S608
_LISTED: Select[*tuple[Any, ...]] = (
    select(pins.c.id, func.octet_length(pins.c.owner) + func.octet_length(shown_names.column()))
    .join(datasets, datasets.c.key == pins.c.dataset_key)
    .where(pins.c.expires_at > literal_column(NOW), scope.is_reached(datasets.c.tenant_key))
)
_BY_IDS = scope.statement(
    f"SELECT {PIN_COLUMNS} FROM pins p JOIN datasets d ON d.key = p.dataset_key"  # noqa: S608
    " WHERE p.id = ANY(:ids)"
)
_TOTALS = text(f"""
    SELECT count(*), coalesce(sum(held_bytes), 0)::float8,
           coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
    FROM pins WHERE expires_at > {NOW}
""")  # noqa: S608
_OF_DATASET = text(f"""
    SELECT count(*), coalesce(max(held_segments), 0)::bigint,
      coalesce((extract(epoch FROM min(created_at)) * 1000000)::bigint * 1000, 0),
      coalesce((extract(epoch FROM max(ends_at)) * 1000000)::bigint * 1000, 0)
    FROM pins WHERE dataset_key = :key AND expires_at > {NOW}
""")  # noqa: S608
_FORGET = text(f"DELETE FROM pins WHERE expires_at <= {NOW}")  # noqa: S608


def list_page(
    tx: Transaction, window: keyset.Window, dataset_name: str | None, owner: str | None
) -> keyset.Page[PinRow]:
    """One page of the pins that the caller may see: of a dataset, of an owner, or all.

    An operator sees all of them, others see those that they took.
    """
    principal = None if is_operator() else access.current.get().subject
    chosen = (
        (pins.c.principal, principal),
        (shown_names.column(), dataset_name),
        (pins.c.owner, owner),
    )
    equal = (column == value for column, value in chosen if value is not None)
    listed = _LISTED.where(*equal)
    visible = scope.visible_ids()
    if visible is not None:
        listed = listed.where(datasets.c.id.in_(visible))
    return keyset.read_rows(tx, listed, window, _BY_IDS, PinRow)


def totals(tx: Transaction) -> PinTotals:
    """Number of pins, and the bytes that they hold."""
    number, held_bytes, oldest_secs = tx.execute(_TOTALS).one()
    return PinTotals(int(number), int(held_bytes), float(oldest_secs))


def of_dataset(tx: Transaction, dataset_key: int) -> DatasetPins:
    """Count the pins of a dataset, whoever has taken them."""
    return DatasetPins(*tx.execute(_OF_DATASET, {"key": dataset_key}).one())


def forget_expired(tx: Transaction) -> int:
    """Remove pins whose lease is over; returns how many."""
    return tx.execute(_FORGET).rowcount
