"""Dataset settings: retention, grace, quota; promoted columns are part of the layout."""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, bindparam, select, update

from meta.store.catalog import shown_names
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.catalog import datasets


@dataclass(frozen=True, slots=True)
class DatasetSettings:
    """In seconds, 0 = kept without limit, the server's grace; records a month, 0 = its default.

    The limits of ingest are those of each token, 0 = the collector's default; of event times in
    seconds, 0 = any.
    """

    event_retention_secs: int = 0
    created_retention_secs: int = 0
    tombstone_grace_secs: int = 0
    records_per_month: int = 0
    ingest_bytes_per_sec: int = 0
    ingest_exports_in_flight: int = 0
    ingest_memory_bytes: int = 0
    event_age_max_secs: int = 0
    event_lead_max_secs: int = 0
    # Settings for objects that clients register without facts; "" = timestamp.
    refuses_foreign: bool = False
    foreign_time_column: str = ""
    # A number of SchemaViolations, 0 = null.
    schema_violations: int = 0
    # A number of TimestampUnit, 0 = by the magnitude.
    timestamp_unit: int = 0
    # Nanoseconds that readers add to the times of records on request.
    time_adjustment_nanos: int = 0


# The limits of ingest among them.
INGEST_LIMITS = (
    "ingest_bytes_per_sec",
    "ingest_exports_in_flight",
    "ingest_memory_bytes",
    "event_age_max_secs",
    "event_lead_max_secs",
)
_READ: Select[*tuple[Any, ...]] = select(*row_columns(DatasetSettings, datasets)).where(
    datasets.c.id == bindparam("dataset")
)
_DEDUPLICATION_COLUMN: Select[*tuple[Any, ...]] = select(
    datasets.c.deduplication_column, shown_names.column().label("name")
).where(datasets.c.id == bindparam("dataset"))
_WRITE = update(datasets).where(datasets.c.id == bindparam("dataset"))


def read(tx: Transaction, dataset_id: UUID) -> DatasetSettings:
    """The settings of a dataset that the caller knows to exist."""
    row = tx.execute(_READ, {"dataset": dataset_id}).one()
    values: list[Any] = [0 if value is None else value for value in row]
    return DatasetSettings(*values)


def read_deduplication_column(tx: Transaction, dataset_id: UUID) -> tuple[str, str]:
    """Return the column of the keys of a dataset's events, "" = none, and the dataset's name.

    The dataset may be deleted.
    """
    row = tx.execute(_DEDUPLICATION_COLUMN, {"dataset": dataset_id}).one()
    return row.deduplication_column, row.name


def write(tx: Transaction, dataset_id: UUID, settings: DatasetSettings) -> None:
    """Store all settings; the caller holds the dataset's row."""
    tx.execute(_WRITE.values(asdict(settings)), {"dataset": dataset_id})
