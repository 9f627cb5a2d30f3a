"""Additions to the contract: undelete and settings of datasets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from google.protobuf.duration_pb2 import Duration

from meta.config import GRACE_FLOOR_SECS, GRACE_OVER_CURSOR_SECS
from meta.errors import InvalidArgument
from meta.services.catalog import (
    automatic_columns,
    dataset_columns,
    deduplication_setting,
    entry_versions,
)
from meta.services.catalog.column_changes import ColumnChanges
from meta.services.catalog.dataset_columns import checked_schema_violations
from meta.services.messages import checks, convert, ingest_limits
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.catalog import dataset_settings, datasets, former_layouts
from meta.store.catalog.dataset_settings import INGEST_LIMITS, DatasetSettings
from meta.store.deduplication import windows
from meta.store.deletion import baselines, dataset_deletion
from meta.store.deletion.baselines import Expiring
from meta.store.engine.pool import Transaction
from meta.store.registration import conservation
from meta.store.versions import upgrades
from meta.v1 import operations_pb2

COLUMN_CHARACTERS_MAX = 255
TIME_ADJUSTMENT_DAYS_MAX = 3_660
_NANOS_A_DAY = 86_400 * 10**9
_RETENTIONS = frozenset(("event_retention_secs", "created_retention_secs"))


def undelete_dataset(
    server: ServerParts, request: operations_pb2.UndeleteDatasetRequest
) -> operations_pb2.UndeleteDatasetResponse:
    """Bring a deleted dataset back while its grace lasts and its name is free."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    dataset, success = server.transactions.write(
        lambda tx: dataset_deletion.undelete(
            tx,
            dataset_id,
            grace_secs=server.settings.lifetimes.dataset_grace,
            live_max=server.settings.datasets_max,
            creator_max=server.settings.datasets_per_creator_max,
        )
    )
    return operations_pb2.UndeleteDatasetResponse(
        id=str(dataset.id), name=dataset.name, success=success
    )


def set_dataset_settings(
    server: ServerParts, request: operations_pb2.SetDatasetSettingsRequest
) -> operations_pb2.SetDatasetSettingsResponse:
    """Change the given settings of a dataset."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    changes = _changes(server, request.settings)
    columns = ColumnChanges.read(request.settings)
    allowed = checks.optional_count(
        request.settings, "excess_events_allowed", "settings.excess_events_allowed"
    )
    confirmed = checks.optional_count(request, "deletes_confirmed")

    expected = entry_versions.expected(request)

    def work(tx: Transaction) -> operations_pb2.SetDatasetSettingsResponse:
        if columns.is_changed:
            datasets.lock_columns(tx, [dataset_id])
        if expected is not None:
            _check_version(tx, dataset_id, expected, changes, columns)
        expiring = _change(server, tx, dataset_id, changes, confirmed)
        if allowed is not None:
            _allow_excess(tx, dataset_id, allowed)
        columns.apply(tx, dataset_id)
        settings = _message(tx, dataset_id)
        return operations_pb2.SetDatasetSettingsResponse(
            settings=settings,
            version=_version(settings),
            unconfirmed_deletes=expiring.segments,
            unconfirmed_bytes=expiring.size_bytes,
        )

    return server.transactions.write(work)


def get_dataset_settings(
    server: ServerParts, request: operations_pb2.GetDatasetSettingsRequest
) -> operations_pb2.GetDatasetSettingsResponse:
    """Read all settings of a dataset."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    at_version = checks.optional_count(request, "columns_at")

    def work(tx: Transaction) -> operations_pb2.DatasetSettings:
        return _message(tx, datasets.get(tx, dataset_id).id, at_version)

    stored = server.transactions.read(work)
    return operations_pb2.GetDatasetSettingsResponse(settings=stored, version=_version(stored))


def _changes(server: ServerParts, settings: operations_pb2.DatasetSettings) -> dict[str, Any]:
    """The given settings by the names of DatasetSettings' fields."""
    changes: dict[str, Any] = {}
    for part in ("event_retention", "created_retention", "tombstone_grace"):
        if settings.HasField(part):
            value: Duration = getattr(settings, part)
            changes[f"{part}_secs"] = _seconds(value, f"settings.{part}")
    grace = changes.get("tombstone_grace_secs", 0)
    floor = max(GRACE_FLOOR_SECS, server.settings.lifetimes.cursor + GRACE_OVER_CURSOR_SECS)
    if 0 < grace < floor and not server.settings.is_unsafe_grace:
        raise InvalidArgument(
            f"tombstone_grace is {grace} s, below {floor:g}: readers would lose objects",
            field="settings.tombstone_grace",
        )
    if settings.HasField("records_per_month"):
        changes["records_per_month"] = checks.count(
            settings.records_per_month, "settings.records_per_month", low=-1
        )
    if settings.HasField("schema_violations"):
        changes["schema_violations"] = checked_schema_violations(settings.schema_violations)
    changes |= _time_changes(settings)
    if settings.HasField("ingest_limits"):
        changes |= ingest_limits.changes(settings.ingest_limits)
    if settings.HasField("foreign_files"):
        field = "settings.foreign_files.time_column"
        name = settings.foreign_files.time_column
        changes["refuses_foreign"] = settings.foreign_files.refused
        changes["foreign_time_column"] = checks.text(
            name, field, characters_max=COLUMN_CHARACTERS_MAX
        )
    return changes


def _time_changes(settings: operations_pb2.DatasetSettings) -> dict[str, int]:
    changes: dict[str, int] = {}
    if settings.HasField("timestamp_unit"):
        if settings.timestamp_unit not in operations_pb2.TimestampUnit.values():
            unit = settings.timestamp_unit
            raise InvalidArgument(f"{unit} is no TimestampUnit", field="settings.timestamp_unit")
        changes["timestamp_unit"] = settings.timestamp_unit
    if settings.HasField("time_adjustment_nanos"):
        high = TIME_ADJUSTMENT_DAYS_MAX * _NANOS_A_DAY
        changes["time_adjustment_nanos"] = checks.count(
            settings.time_adjustment_nanos, "settings.time_adjustment_nanos", low=-high, high=high
        )
    return changes


def _change(
    server: ServerParts,
    tx: Transaction,
    dataset_id: UUID,
    changes: dict[str, Any],
    confirmed: int | None,
) -> Expiring:
    """Lock the dataset's row and store the changes; returns the deletions that are unconfirmed."""
    dataset = datasets.lock_settings(tx, dataset_id)
    old: DatasetSettings = dataset_settings.read(tx, dataset_id)
    new = replace(old, **changes)
    if new.time_adjustment_nanos and not old.time_adjustment_nanos:
        upgrades.require_finished(tx, "a time adjustment")
    dataset_settings.write(tx, dataset_id, new)
    expiring = Expiring()
    if confirmed is not None or changes.keys() & _RETENTIONS:
        percent_max = server.settings.deletion_percent_max
        expiring = baselines.change(tx, dataset.key, new, confirmed, percent_max)
    if new != old:
        audit.note(tx, "SetDatasetSettings", dataset_id, audit.states(old, new))
    if confirmed is not None:
        detail = f"deletion of up to {confirmed} segments is confirmed"
        audit.note(tx, "SetDatasetSettings", dataset_id, detail)
    return expiring


def _check_version(
    tx: Transaction,
    dataset_id: UUID,
    expected: str,
    changes: dict[str, Any],
    columns: ColumnChanges,
) -> None:
    """Lock the settings and compare them with the base of the change. Raises RaceLost."""
    datasets.lock_settings(tx, dataset_id)
    settings = dataset_settings.read(tx, dataset_id)
    is_in_effect = replace(settings, **changes) == settings
    is_in_effect = is_in_effect and columns.are_in_effect(tx, dataset_id)
    content = _people_set(_message(tx, dataset_id))
    entry_versions.check(expected, content, is_in_effect=is_in_effect)


def _version(settings: operations_pb2.DatasetSettings) -> str:
    return entry_versions.of(_people_set(settings))


def _people_set(settings: operations_pb2.DatasetSettings) -> operations_pb2.DatasetSettings:
    """The settings without what changes by itself.

    That is the allowance, the duplicates, the window and the columns of older segments.
    """
    content = operations_pb2.DatasetSettings()
    content.CopyFrom(settings)
    content.ClearField("excess_events_allowed")
    content.ClearField("duplicates")
    if content.HasField("deduplication"):
        content.deduplication.ClearField("window")
    listed = [c for c in content.automatic_columns.columns if c.written]
    if content.HasField("automatic_columns"):
        del content.automatic_columns.columns[:]
        content.automatic_columns.columns.extend(listed)
    return content


def _allow_excess(tx: Transaction, dataset_id: UUID, allowed: int) -> None:
    if allowed != conservation.read_allowance(tx, dataset_id):
        conservation.set_allowance(tx, dataset_id, allowed)
        audit.note(tx, "SetDatasetSettings", dataset_id, f"{allowed} excess events are allowed")


def _message(
    tx: Transaction, dataset_id: UUID, columns_at: int | None = None
) -> operations_pb2.DatasetSettings:
    settings = dataset_settings.read(tx, dataset_id)
    dataset = datasets.get(tx, dataset_id)
    columns = dataset_columns.current(tx, dataset_id)
    if columns_at is not None:
        columns = former_layouts.at(tx, dataset_id, columns_at)
    return operations_pb2.DatasetSettings(
        event_retention=Duration(seconds=settings.event_retention_secs),
        created_retention=Duration(seconds=settings.created_retention_secs),
        tombstone_grace=Duration(seconds=settings.tombstone_grace_secs),
        records_per_month=settings.records_per_month,
        ingest_limits=ingest_limits.message(getattr(settings, name) for name in INGEST_LIMITS),
        promoted_columns=operations_pb2.PromotedColumns(columns=convert.promoted_messages(columns)),
        excess_events_allowed=conservation.read_allowance(tx, dataset_id),
        foreign_files=_foreign_files(settings),
        binding=dataset_columns.message_of(tx, dataset_id),
        # As before if it is the usual one.
        schema_violations=operations_pb2.SchemaViolations.ValueType(settings.schema_violations)
        or None,
        timestamp_unit=operations_pb2.TimestampUnit.ValueType(settings.timestamp_unit) or None,
        time_adjustment_nanos=settings.time_adjustment_nanos or None,
        record_ids=dataset_columns.has_receipt(tx, dataset_id, "record_ids") or None,
        batch_ids=dataset_columns.has_receipt(tx, dataset_id, "batch_ids") or None,
        store=dataset.store,
        deduplication=deduplication_setting.message_of(tx, dataset_id),
        duplicates=windows.count_duplicates(tx, dataset.key),
        automatic_columns=automatic_columns.message_of(tx, dataset_id),
    )


def _foreign_files(settings: DatasetSettings) -> operations_pb2.ForeignFileSettings | None:
    """The settings of objects without facts; None if they are the usual ones, as before."""
    if not (settings.refuses_foreign or settings.foreign_time_column):
        return None
    return operations_pb2.ForeignFileSettings(
        refused=settings.refuses_foreign, time_column=settings.foreign_time_column
    )


def _seconds(value: Duration, field: str) -> int:
    """Whole seconds, rounded up, so that nothing is removed too early."""
    if not 0 <= value.nanos < 1_000_000_000:
        raise InvalidArgument(f"{field}.nanos is {value.nanos}", field=f"{field}.nanos")
    seconds = value.seconds + (1 if value.nanos else 0)
    return checks.count(seconds, field, high=ingest_limits.SECONDS_MAX)
