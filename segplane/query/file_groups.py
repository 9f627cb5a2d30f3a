"""Files of a dataset by the automatic columns that a query reads of them.

Each group is a branch of the dataset's table. It gives the hidden columns of the query from the
automatic columns that all of its files have, and the others from the JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kql.pushdown.automatic import HiddenColumn
from kql.typed import Promoted
from meta.v1 import common_pb2
from segments.facts.automatic_columns import usable_ids
from segplane.query.quoting import quoted, unbounded
from segplane.read.files.files import DatasetFile

if TYPE_CHECKING:
    from segplane.read.rows.columns import ReadColumns

# A query of many keys may meet as many sets of columns as there are files: the JSON has all.
GROUPS_MAX = 8
SQL_TYPES = {"string": "VARCHAR", "long": "BIGINT"}
_TYPES = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that have the same automatic columns, as far as the query reads them."""

    columns: tuple[Promoted, ...]
    files: tuple[DatasetFile, ...]

    @property
    def is_plain(self) -> bool:
        """Return true if all attributes are read from the JSON."""
        return not self.columns

    def read_columns(
        self, columns: ReadColumns, promoted: Sequence[common_pb2.PromotedColumn]
    ) -> ReadColumns:
        """Return the columns to read of the files, the automatic ones after the others."""
        if self.is_plain:
            return columns
        # pyarrow takes long to import.
        from segplane.read.rows.columns import ReadColumns

        names = (*columns.names, *(column.name for column in self.columns))
        return ReadColumns(columns.signals, (*promoted, *map(_message, self.columns)), names)


def groups_of(files: Iterable[DatasetFile], hidden: Sequence[HiddenColumn]) -> list[FileGroup]:
    """Group files; those of rare sets of columns join the files whose JSON is read."""
    columns = dict.fromkeys(column for item in hidden for column in item.columns)
    groups: dict[tuple[Promoted, ...], list[DatasetFile]] = {}
    for file in files:
        usable = usable_ids(file.written) if columns else ()
        key = tuple(column for column in columns if field_id_of(column) in usable)
        groups.setdefault(key, []).append(file)
    rows = {key: sum(file.rows for file in items) for key, items in groups.items()}
    largest = sorted((key for key in groups if key), key=lambda key: -rows[key])
    for key in largest[GROUPS_MAX - 1 :]:
        groups.setdefault((), []).extend(groups.pop(key))
    return [
        FileGroup(key, tuple(_with_columns(file, key) for file in items))
        for key, items in groups.items()
    ]


def selected(
    columns: Sequence[str],
    hidden: Sequence[HiddenColumn],
    automatic: Sequence[Promoted],
    floating: Collection[str] = (),
) -> str:
    """Return what a branch selects: stored columns, then the hidden ones of the query.

    Bounds of the `floating` columns are not used.
    """
    values = [
        f"{unbounded(name)} AS {quoted(name)}" if name in floating else quoted(name)
        for name in columns
    ]
    if not hidden:
        return ", ".join(values)
    # sqlglot takes long to import.
    from kql.sql.hidden import hidden_sql

    for item in hidden:
        hidden_column = next((column for column in item.columns if column in automatic), None)
        values.append(f"{hidden_sql(item, hidden_column, 'duckdb')} AS {quoted(item.name)}")
    return ", ".join(values)


def field_id_of(column: Promoted) -> int:
    """Return the field id of an automatic column, which its name says."""
    return int(column.name.removeprefix("$"))


def _with_columns(file: DatasetFile, columns: Sequence[Promoted]) -> DatasetFile:
    if not columns or file.promoted is None:
        return file
    return replace(file, promoted=(*file.promoted, *map(_message, columns)))


def _message(column: Promoted) -> common_pb2.PromotedColumn:
    return common_pb2.PromotedColumn(
        name=column.name,
        type=_TYPES[column.type],
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute=column.attribute,
        field_id=field_id_of(column),
    )
