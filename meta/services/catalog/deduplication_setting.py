"""The setting by which a dataset is deduplicated: a column, and the days of its window."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from meta.errors import InvalidArgument, StillReferenced
from meta.secrets import random_bytes
from meta.services.messages import checks, deduplication_keys
from meta.store.access import audit
from meta.store.catalog import dataset_layouts, dataset_settings, datasets
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.deduplication import windows
from meta.store.deduplication.windows import (
    SECRET_BYTES,
    WINDOW_DAYS_MAX,
    RetainedDays,
)
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import common_pb2

FIELD = "settings.deduplication"
WINDOW_DAYS = 7
# Each value of these types has one text.
_TYPES = (
    common_pb2.KQL_TYPE_STRING,
    common_pb2.KQL_TYPE_GUID,
    common_pb2.KQL_TYPE_INT,
    common_pb2.KQL_TYPE_LONG,
)


@dataclass(frozen=True, slots=True)
class DeduplicationSetting:
    """The column of keys and the days for which they are kept; no column = no deduplication key."""

    column: str
    retained: RetainedDays

    def is_in_effect(self, tx: Transaction, dataset_id: UUID) -> bool:
        """Whether the dataset has this setting already."""
        return (_current(tx, dataset_id) or NO_DEDUPLICATION) == self

    def apply(self, tx: Transaction, dataset_id: UUID) -> None:
        """Store the setting; the caller holds the dataset's row. Raises InvalidArgument."""
        before = _current(tx, dataset_id) or NO_DEDUPLICATION
        if before == self:
            return
        dataset = datasets.get(tx, dataset_id)
        # Nurseries read it: equal response_seq must mean equal rules.
        version = versions.allocate(tx)
        if not self.column:
            windows.end(tx, dataset.key)
            datasets.identify(tx, dataset_id, None, "")
        else:
            self._check_column(tx, dataset_id)
            is_other = before.column != self.column
            secret = random_bytes(SECRET_BYTES) if is_other else None
            windows.keep(tx, dataset.key, self.retained, secret)
            rule = version if is_other else dataset.deduplication_rule
            datasets.identify(tx, dataset_id, rule, self.column)
        datasets.stamp(tx, dataset_id, version)
        detail = {
            "deduplication": self.column,
            "window_days": self.retained.days,
            "refuses_outside": self.retained.refuses_outside,
        }
        audit.note(tx, "SetDatasetSettings", dataset_id, json.dumps(detail))

    def _check_column(self, tx: Transaction, dataset_id: UUID) -> None:
        columns = dataset_layouts.read(tx, [dataset_id])[dataset_id].promoted_columns
        column = next((c for c in columns if c.is_of_schema and c.name == self.column), None)
        if column is None:
            raise InvalidArgument(
                f"{self.column} is not a column of a schema that the dataset is bound to",
                field=f"{FIELD}.column",
            )
        if column.kql_type not in _TYPES:
            raise InvalidArgument(
                f"{self.column} is not a string, guid, int or long", field=f"{FIELD}.column"
            )


NO_DEDUPLICATION = DeduplicationSetting("", RetainedDays(0))


def checked(message: common_pb2.Deduplication) -> DeduplicationSetting:
    """Check the setting as far as the message alone allows. Raises InvalidArgument."""
    days = checks.count(message.window_days, f"{FIELD}.window_days", high=WINDOW_DAYS_MAX)
    choice = message.outside_window
    if choice not in common_pb2.OutsideWindow.values():
        raise InvalidArgument(f"{choice} is not keep or refuse", field=f"{FIELD}.outside_window")
    if not message.column:
        if days or choice:
            raise InvalidArgument("column is not set", field=f"{FIELD}.column")
        return NO_DEDUPLICATION
    refuses = choice == common_pb2.OUTSIDE_WINDOW_REFUSE
    return DeduplicationSetting(
        checks.name(message.column, f"{FIELD}.column"), RetainedDays(days or WINDOW_DAYS, refuses)
    )


def message_of(tx: Transaction, dataset_id: UUID) -> common_pb2.Deduplication | None:
    """The setting of a dataset; None where each record is a row."""
    dataset, current = datasets.get(tx, dataset_id), _current(tx, dataset_id)
    if current is None:
        return None
    window = windows.read_refused_outside(tx, [dataset.key]).get(dataset.key)
    message = deduplication_keys.deduplication_message(dataset, window)
    message.window_days = current.retained.days
    return message


def check_kept(tx: Transaction, dataset_id: UUID, columns: Sequence[PromotedColumnRow]) -> None:
    """Refuse columns without that of the deduplication keys. Raises StillReferenced."""
    name, dataset_name = dataset_settings.read_deduplication_column(tx, dataset_id)
    if name and not any(column.name == name and column.is_of_schema for column in columns):
        raise StillReferenced(
            f"{name} is the deduplication key of the dataset's events: end deduplication first",
            dataset_id=dataset_id,
            blockers=f"dataset {dataset_name}",
        )


def _current(tx: Transaction, dataset_id: UUID) -> DeduplicationSetting | None:
    dataset = datasets.get(tx, dataset_id)
    if dataset.deduplication_rule is None:
        return None
    return DeduplicationSetting(dataset.deduplication_column, windows.retained(tx, dataset.key))
