"""Dataset settings: retention, grace, quota; promoted columns are part of the layout."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, bindparam, select, update

from meta.store.engine.pool import Transaction
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
    # Of objects that clients register without facts; "" = timestamp.
    refuses_foreign: bool = False
    foreign_time_column: str = ""
    # A number of SchemaViolations, 0 = null.
    schema_violations: int = 0
    # A number of TimestampUnit, 0 = by the magnitude.
    timestamp_unit: int = 0


_READ: Select[*tuple[Any, ...]] = select(
    datasets.c.event_retention_secs,
    datasets.c.created_retention_secs,
    datasets.c.tombstone_grace_secs,
    datasets.c.records_per_month,
    datasets.c.ingest_bytes_per_sec,
    datasets.c.ingest_exports_in_flight,
    datasets.c.ingest_memory_bytes,
    datasets.c.event_age_max_secs,
    datasets.c.event_lead_max_secs,
    datasets.c.refuses_foreign,
    datasets.c.foreign_time_column,
    datasets.c.schema_violations,
    datasets.c.timestamp_unit,
).where(datasets.c.id == bindparam("dataset"))
_DEDUPLICATION_COLUMN: Select[*tuple[Any, ...]] = select(
    datasets.c.deduplication_column, datasets.c.name
).where(datasets.c.id == bindparam("dataset"))
_WRITE = (
    update(datasets)
    .where(datasets.c.id == bindparam("dataset"))
    .values(
        event_retention_secs=bindparam("event"),
        created_retention_secs=bindparam("created"),
        tombstone_grace_secs=bindparam("grace"),
        records_per_month=bindparam("records"),
        ingest_bytes_per_sec=bindparam("ingest_bytes_per_sec_"),
        ingest_exports_in_flight=bindparam("ingest_exports_in_flight_"),
        ingest_memory_bytes=bindparam("ingest_memory_bytes_"),
        event_age_max_secs=bindparam("event_age_max_secs_"),
        event_lead_max_secs=bindparam("event_lead_max_secs_"),
        refuses_foreign=bindparam("refuses_foreign_"),
        foreign_time_column=bindparam("foreign_time_column_"),
        schema_violations=bindparam("schema_violations_"),
        timestamp_unit=bindparam("timestamp_unit_"),
    )
)


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
    values = {
        "dataset": dataset_id,
        "event": settings.event_retention_secs,
        "created": settings.created_retention_secs,
        "grace": settings.tombstone_grace_secs,
        "records": settings.records_per_month,
        "ingest_bytes_per_sec_": settings.ingest_bytes_per_sec,
        "ingest_exports_in_flight_": settings.ingest_exports_in_flight,
        "ingest_memory_bytes_": settings.ingest_memory_bytes,
        "event_age_max_secs_": settings.event_age_max_secs,
        "event_lead_max_secs_": settings.event_lead_max_secs,
        "refuses_foreign_": settings.refuses_foreign,
        "foreign_time_column_": settings.foreign_time_column,
        "schema_violations_": settings.schema_violations,
        "timestamp_unit_": settings.timestamp_unit,
    }
    tx.execute(_WRITE, values)
