"""The settings of a dataset that shape its segments. This module is imported without Arrow."""

from dataclasses import dataclass

from segments.deduplication import Deduplication

# Scopes of columns that follow from how a record was received: `id` and `ingested_at`, `batch_id`.
RECEIPT, REQUEST = "receipt", "request"
# Types of automatic columns: values that are read back exactly as the JSON has them.
AUTOMATIC_TYPES = frozenset(["string", "long"])


def automatic_name(field_id: int) -> str:
    """Return the name of the automatic column with a field id."""
    return f"${field_id}"


@dataclass(frozen=True, slots=True)
class PromotedColumn:
    """One typed column over an attribute, written in addition to the attribute JSON.

    `kql_type` is a type of KQL. `scope` names the attributes that are looked in: record, resource
    or scope; or it is receipt or request, for columns that follow from how a record was received.
    `field_id` is its Parquet field id, for these four only; None in format 1. If a segment lacks a
    column that `is_bound`, its values stay null; any other is computed from the attributes. One
    that `is_automatic` is hidden, and has values of exactly its type alone
    (`segments.parquet.columns.automatic`). `name_id` is the number of its name if it had another.
    """

    name: str
    kql_type: str
    scope: str
    attribute: str
    field_id: int | None = None
    is_bound: bool = False
    is_automatic: bool = False
    name_id: int | None = None

    @property
    def fact_id(self) -> int | None:
        """The number of a column, by its name, among the facts of a file."""
        return self.name_id if self.name_id is not None else self.field_id

    @property
    def values(self) -> tuple[int | None, str, str, str, bool]:
        """Equal for a column by all names that it had."""
        return self.field_id, self.kql_type, self.scope, self.attribute, self.is_automatic

    @property
    def definition(self) -> tuple[str, str, str, str]:
        """All that a column's values depend on."""
        return self.name, self.kql_type, self.scope, self.attribute


@dataclass(frozen=True, slots=True)
class SegmentSpec:
    """The settings of a dataset that shape its segments, and the name of the store of new ones.

    `sharding_fields` come heaviest first; those that name no sortable column are passed over. A
    record with a value that does not fit an `enforced` column is in no segment.
    """

    sharding_fields: tuple[str, ...] = ()
    promoted: tuple[PromotedColumn, ...] = ()
    enforced: frozenset[str] = frozenset()
    store: str = ""
    deduplication: Deduplication | None = None

    @property
    def deduplication_column(self) -> str:
        """The column that is the deduplication key of events; "" = each record is a row."""
        return self.deduplication.column if self.deduplication is not None else ""
