"""Names that the typed columns of a dataset may have beside each other and after each other."""

from collections.abc import Iterable, Sequence

from meta.errors import InvalidArgument
from meta.services.catalog import promoted_columns
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.v1 import common_pb2


def check(
    bound: Sequence[PromotedColumnRow], promoted: Iterable[PromotedColumnRow], field: str
) -> None:
    """Refuse names of the format, and those that differ in case alone. Raises InvalidArgument."""
    taken = {
        column.name.casefold(): f"a column of {promoted_columns.receipt_setting(column)}"
        if column.is_of_receipt
        else "a promoted column"
        for column in promoted
    }
    for column in bound:
        name = column.name.casefold()
        if name in promoted_columns.FORMAT_COLUMNS:
            raise InvalidArgument(f"{column.name} is a column of the format", field=field)
        if name in taken:
            raise InvalidArgument(f"{column.name} is the name of {taken[name]} too", field=field)
        taken[name] = "another column"
    promoted_columns.check_added_names(bound, (), field)


def check_former(
    numbered: Sequence[PromotedColumnRow], bound: Sequence[PromotedColumnRow], field: str
) -> None:
    """Refuse a name that segments may have with other values: readers by name would mix them."""
    former = {row.name.casefold(): row for row in numbered}
    ids = {row: row.file_id for row in numbered}
    for column in bound:
        other = former.get(column.name.casefold())
        if other is not None and other != column and other.file_id != ids.get(column):
            type_ = common_pb2.KqlType.Name(common_pb2.KqlType.ValueType(other.kql_type))
            raise InvalidArgument(
                f"{column.name} was a column of type {type_.rpartition('_')[2].lower()}"
                f" over attribute {other.attribute}: keep both, or take another name",
                field=field,
            )


def check_files(columns: Iterable[PromotedColumnRow]) -> None:
    """Refuse a column over an attribute that another has under a later name."""
    names: dict[int | None, str] = {}
    for column in columns:
        other = names.setdefault(column.file_id, column.name)
        if column.file_id is not None and other != column.name:
            raise InvalidArgument(
                f"{column.name} and {other} are names of one column", field="settings"
            )
