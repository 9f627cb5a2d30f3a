"""Automatic columns of datasets: hidden columns over attributes of records.

Their field ids begin far above those of promoted columns, and a column that comes back gets its own
id again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.store.engine.pool import Transaction

FIELD_ID_MIN = 1_000_000
# Columns that a dataset can have had in all.
NUMBERED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class AutomaticColumnRow:
    """A column over an attribute; its type is a number of the contract's enum."""

    attribute: str
    type: int
    field_id: int
    written: bool


@dataclass(frozen=True, slots=True)
class AutomaticColumns:
    """The switch of a dataset, and every column that it has or had, by field id."""

    is_enabled: bool = False
    columns: tuple[AutomaticColumnRow, ...] = ()

    @property
    def written(self) -> tuple[AutomaticColumnRow, ...]:
        """The columns that new segments have."""
        return tuple(c for c in self.columns if c.written) if self.is_enabled else ()


_READ = text("""
    SELECT d.id, d.has_automatic_columns, c.attribute, c.type, c.field_id, c.is_written
    FROM datasets d LEFT JOIN automatic_columns c ON c.dataset_id = d.id
    WHERE d.id = ANY(:ids) AND (d.has_automatic_columns OR :with_all) ORDER BY d.id, c.field_id
""").bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_SWITCH = text("UPDATE datasets SET has_automatic_columns = :is_enabled WHERE id = :dataset")
_UNWRITE = text("""
    UPDATE automatic_columns SET is_written = false
    WHERE dataset_id = :dataset AND is_written
""")
_WRITE = text("""
    INSERT INTO automatic_columns (dataset_id, field_id, attribute, type, is_written)
    SELECT :dataset, coalesce(max(field_id) + 2, :first), :attribute, :type, true
    FROM automatic_columns WHERE dataset_id = :dataset
    ON CONFLICT (dataset_id, attribute, type) DO UPDATE SET is_written = true
""")


def read(tx: Transaction, dataset_id: UUID) -> AutomaticColumns:
    """The switch and the columns of a dataset."""
    return _read(tx, [dataset_id], with_all=True).get(dataset_id, AutomaticColumns())


def read_written(
    tx: Transaction, dataset_ids: Iterable[UUID]
) -> dict[UUID, tuple[AutomaticColumnRow, ...]]:
    """The columns that new segments of datasets have; those without any are missing."""
    ids = list(dataset_ids)
    columns = _read(tx, ids, with_all=False) if ids else {}
    return {dataset_id: item.written for dataset_id, item in columns.items() if item.written}


def switch(tx: Transaction, dataset_id: UUID, *, is_enabled: bool) -> None:
    """Store the switch; the caller holds the dataset's row."""
    tx.execute(_SWITCH, {"dataset": dataset_id, "is_enabled": is_enabled})


def write(tx: Transaction, dataset_id: UUID, columns: Sequence[tuple[str, int]]) -> None:
    """Store attributes and types of the columns of new segments; the caller holds the dataset."""
    tx.execute(_UNWRITE, {"dataset": dataset_id})
    for attribute, kql_type in columns:
        values = {"attribute": attribute, "type": kql_type, "first": FIELD_ID_MIN}
        tx.execute(_WRITE, {"dataset": dataset_id, **values})


def _read(
    tx: Transaction, dataset_ids: list[UUID], *, with_all: bool
) -> dict[UUID, AutomaticColumns]:
    switches: dict[UUID, bool] = {}
    rows: dict[UUID, list[AutomaticColumnRow]] = {}
    values = {"ids": dataset_ids, "with_all": with_all}
    for dataset_id, is_enabled, *column in tx.execute(_READ, values):
        switches[dataset_id] = is_enabled
        if column[0] is not None:
            rows.setdefault(dataset_id, []).append(AutomaticColumnRow(*column))
    return {i: AutomaticColumns(on, tuple(rows.get(i, ()))) for i, on in switches.items()}
