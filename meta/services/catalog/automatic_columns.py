"""The setting of a dataset's automatic columns: checks, changes, messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from kql.functions.dynamics import is_key
from meta.errors import InvalidArgument, QuotaExceeded
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.store.access import audit
from meta.store.catalog import automatic_columns, datasets
from meta.store.catalog.automatic_columns import NUMBERED_MAX, AutomaticColumns
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import common_pb2, operations_pb2

COLUMNS_MAX = 100
FIELD = "settings.automatic_columns"
_TYPES = frozenset([common_pb2.KQL_TYPE_STRING, common_pb2.KQL_TYPE_LONG])


@dataclass(frozen=True, slots=True)
class AutomaticSetting:
    """The switch, and the attributes and types of the columns of new segments."""

    is_enabled: bool
    columns: tuple[tuple[str, int], ...]

    def is_in_effect(self, tx: Transaction, dataset_id: UUID) -> bool:
        """Whether the dataset has the setting already."""
        return self == _of(automatic_columns.read(tx, dataset_id))

    def apply(self, tx: Transaction, dataset_id: UUID) -> None:
        """Store the setting at its own version; the caller holds the dataset's row."""
        stored = automatic_columns.read(tx, dataset_id)
        old = _of(stored)
        if self == old:
            return
        stored_columns = {(column.attribute, column.type) for column in stored.columns}
        if len(stored_columns | set(self.columns)) > NUMBERED_MAX:
            raise QuotaExceeded(
                f"the dataset would have had more than {NUMBERED_MAX} automatic columns",
                limit=NUMBERED_MAX,
            )
        automatic_columns.switch(tx, dataset_id, is_enabled=self.is_enabled)
        automatic_columns.write(tx, dataset_id, self.columns)
        # Nurseries read them: equal response_seq must mean equal columns.
        datasets.stamp(tx, dataset_id, versions.allocate(tx))
        audit.note(tx, "SetDatasetSettings", dataset_id, audit.states(old, self))


def checked(message: operations_pb2.AutomaticColumns) -> AutomaticSetting:
    """Check the setting: attributes named once each, of a type that is read exactly."""
    written = [column for column in message.columns if column.written]
    checks.at_most(written, f"{FIELD}.columns", COLUMNS_MAX)
    columns = []
    for index, column in enumerate(written):
        at = f"{FIELD}.columns[{index}]"
        if column.type not in _TYPES:
            raise InvalidArgument(f"{at}.type is not string or long", field=f"{at}.type")
        attribute = checks.name(column.attribute, f"{at}.attribute")
        # Turning the columns off repeats the attributes that are set.
        if message.enabled and not is_key(attribute):
            raise InvalidArgument(
                f"{attribute!r} cannot be named in KQL, which alone reads automatic columns: it"
                " has a quote, a bracket, *, ? or a backslash",
                field=f"{at}.attribute",
            )
        columns.append((attribute, int(column.type)))
    checks.distinct([attribute for attribute, _ in columns], f"{FIELD}.columns")
    return AutomaticSetting(message.enabled, tuple(sorted(columns)))


def message_of(tx: Transaction, dataset_id: UUID) -> operations_pb2.AutomaticColumns | None:
    """The setting of a dataset; None if it never had one."""
    stored = automatic_columns.read(tx, dataset_id)
    if stored == AutomaticColumns():
        return None
    columns = [filled(common_pb2.AutomaticColumn, column) for column in stored.columns]
    return operations_pb2.AutomaticColumns(enabled=stored.is_enabled, columns=columns)


def _of(stored: AutomaticColumns) -> AutomaticSetting:
    written: Iterable[tuple[str, int]] = (
        (column.attribute, column.type) for column in stored.columns if column.written
    )
    return AutomaticSetting(stored.is_enabled, tuple(sorted(written)))
