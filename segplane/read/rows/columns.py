"""The columns that a reader sees: today's, as format 2 stores them, whatever the files have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc

from dataplane.dataset_layout import UnknownLayout, read_layout
from meta.v1 import common_pb2
from segments.parquet.columns.stored_columns import (
    FORMAT_MICROSECONDS,
    StoredColumns,
    remainder_names,
    wide_stored,
)
from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal
from segplane.read.errors import ReadError
from segplane.read.files.files import DatasetFile

# Needed to find the rows of a signal and of a stretch of time.
FILTER_COLUMNS = ("signal", "timestamp", "timestamp_nanos")
_NONE: Mapping[str, str] = {}


class ReadColumns:
    """Columns of some signals with a dataset's promoted columns, or those that were asked for.

    Words are text and not dictionaries, so that the schema is that of the files as Parquet.
    `constants` are columns that only those have who ask for them. Raises ReadError for a name that
    is not a column.
    """

    def __init__(
        self,
        signals: tuple[Signal, ...],
        promoted: Sequence[common_pb2.PromotedColumn],
        names: Sequence[str] | None,
        constants: Mapping[str, str] = _NONE,
    ) -> None:
        self.signals = signals
        try:
            self.spec = read_layout((), promoted)
        except UnknownLayout as error:
            raise ReadError(f"{error}: upgrade segplane") from None
        stored = wide_stored(signals, self.spec.promoted, FORMAT_MICROSECONDS)
        # Every column, in the order of the format.
        fields = [pa.field(c.name, _plain(c.type)) for c in stored.columns]
        taken = {field.name.lower() for field in fields}
        # Those that were asked for: texts that are the same in all rows, and in no file.
        self.constants = {
            n: v for n, v in constants.items() if n in (names or ()) and n not in taken
        }
        self.all = pa.schema([*fields, *(pa.field(name, pa.string()) for name in self.constants)])
        self._ids = {c.name: c.field_id for c in stored.columns}
        self._stored = stored
        self.names = tuple(self.all.names) if names is None else _checked(names, self.all.names)
        self._computable: dict[object, tuple[bool, bool]] = {}

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that were asked for."""
        return pa.schema([self.all.field(name) for name in self.names])

    @cached_property
    def guarantee(self) -> pc.Expression:
        """The condition that every row meets; Arrow takes constants from it."""
        equal = [pc.field(name) == value for name, value in self.constants.items()]
        return reduce(and_, equal) if equal else pc.scalar(True)

    @property
    def stored(self) -> StoredColumns:
        """Every column, as format 2 stores it."""
        return self._stored

    def field_id(self, name: str) -> int:
        """Return the id that a column has in files of format 2."""
        field_id = self._ids[name]
        assert field_id is not None
        return field_id

    @cached_property
    def promoted(self) -> tuple[PromotedColumn, ...]:
        """The promoted columns that were asked for, or whose remainder was."""
        remainders = remainder_names(self.spec.promoted)
        names = set(self.names)
        return tuple(
            column
            for column in self.spec.promoted
            if column.name in names or remainders.get(column.name) in names
        )

    def has_as_stored(self, file: DatasetFile, *, by_id: bool = False) -> bool:
        """Return true if the file has every promoted column asked for, as format 2 stores it.

        Otherwise its rows are converted: the missing values are in its attributes, or in columns
        of former names. Readers `by_id` find these too.
        """
        if file.format_version != FORMAT_MICROSECONDS or file.promoted is None:
            return False
        key = tuple(column.name_id or column.field_id for column in file.promoted)
        if key not in self._computable:
            self._computable[key] = self._are_same(file.promoted)
        return self._computable[key][by_id]

    def _are_same(self, promoted: Sequence[common_pb2.PromotedColumn]) -> tuple[bool, bool]:
        """Return whether a file has the columns asked for by name and id, and by id alone."""
        try:
            typed = read_layout((), promoted).promoted
        except UnknownLayout:
            return False, False
        ids = {c.name: c.field_id for c in wide_stored(SIGNALS, typed, FORMAT_MICROSECONDS).columns}
        names = {*self.names, *FILTER_COLUMNS} - self.constants.keys()
        needed = {self._ids[name] for name in names}
        has_ids = None not in needed and needed.issubset(ids.values())
        return has_ids and all(ids.get(name) == self._ids[name] for name in names), has_ids


def _checked(names: Sequence[str], column_names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not names:
        raise ReadError(f"columns is {names!r}, expected a list of names")
    for name in names:
        if name not in column_names:
            closest = get_close_matches(str(name), column_names, n=1)
            hint = f": did you mean {closest[0]!r}?" if closest else ""
            raise ReadError(f"there is no column {name!r}{hint}")
    if len(set(names)) < len(names):
        raise ReadError("columns names a column twice")
    return tuple(names)


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if isinstance(type_, pa.DictionaryType) else type_
