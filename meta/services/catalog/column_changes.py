"""Changes of a dataset's typed columns that one call of SetDatasetSettings asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from meta.services.catalog import (
    automatic_columns,
    dataset_columns,
    deduplication_setting,
    promoted_columns,
)
from meta.services.catalog.automatic_columns import AutomaticSetting
from meta.services.catalog.dataset_columns import PROMOTED_FIELD
from meta.services.catalog.deduplication_setting import DeduplicationSetting
from meta.services.catalog.promoted_columns import RECEIPT_COLUMNS
from meta.store.catalog import bindings, datasets
from meta.store.catalog.bindings import Binding
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import operations_pb2


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """Typed and automatic columns, and key; a binding if `rebinds`. None = as is.

    `receipt` says by setting whether the dataset is to have its columns of receipt. `enforces` says
    that the treatment of records that violate the schema is set.
    """

    promoted: tuple[PromotedColumnRow, ...] | None
    rebinds: bool
    binding: Binding | None
    enforces: bool
    receipt: Mapping[str, bool]
    deduplication: DeduplicationSetting | None
    automatic: AutomaticSetting | None

    @classmethod
    def read(cls, settings: operations_pb2.DatasetSettings) -> ColumnChanges:
        """Read and check the changes as far as the message alone allows."""
        columns, has = settings.promoted_columns.columns, settings.HasField
        return cls(
            promoted_columns.checked(columns, PROMOTED_FIELD) if has("promoted_columns") else None,
            has("binding"),
            dataset_columns.checked_binding(settings.binding) if has("binding") else None,
            has("schema_violations"),
            {f.name: is_on for f, is_on in settings.ListFields() if f.name in RECEIPT_COLUMNS},
            deduplication_setting.checked(settings.deduplication) if has("deduplication") else None,
            automatic_columns.checked(settings.automatic_columns)
            if has("automatic_columns")
            else None,
        )

    @property
    def is_changed(self) -> bool:
        """Whether the dataset's row has to be locked for its columns."""
        given = (self.promoted, self.receipt or None, self.deduplication, self.automatic)
        return self.rebinds or self.enforces or any(change is not None for change in given)

    def apply(self, tx: Transaction, dataset_id: UUID) -> None:
        """Store the changes; the caller holds the dataset's row."""
        if self.deduplication == deduplication_setting.NO_DEDUPLICATION:
            # First: the binding may end with it.
            self.deduplication.apply(tx, dataset_id)
        if self.rebinds:
            dataset_columns.bind(tx, dataset_id, self.binding)
        for setting, is_on in self.receipt.items():
            dataset_columns.set_receipt(tx, dataset_id, setting, is_on=is_on)
        if self.promoted is not None:
            dataset_columns.promote(tx, dataset_id, self.promoted)
        if self.deduplication is not None:
            self.deduplication.apply(tx, dataset_id)
        if self.automatic is not None:
            self.automatic.apply(tx, dataset_id)
        if self.enforces:
            # Nurseries read it with the columns: equal response_seq must mean equal settings.
            datasets.stamp(tx, dataset_id, versions.allocate(tx))

    def are_in_effect(self, tx: Transaction, dataset_id: UUID) -> bool:
        """Whether the dataset has all of the changes already."""
        return (
            self.promoted in (None, dataset_columns.current(tx, dataset_id))
            and all(
                is_on == dataset_columns.has_receipt(tx, dataset_id, setting)
                for setting, is_on in self.receipt.items()
            )
            and (self.deduplication is None or self.deduplication.is_in_effect(tx, dataset_id))
            and (self.automatic is None or self.automatic.is_in_effect(tx, dataset_id))
            and (not self.rebinds or self.binding == bindings.read(tx, dataset_id))
        )
