"""Columns that a statement selects for the fields of a dataclass."""

from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Table


def row_columns(
    row: type[Any], table: Table, **others: ColumnElement[Any]
) -> tuple[ColumnElement[Any], ...]:
    """The columns of a table with the names of a row's fields, in their order, or others."""
    names = [field.name for field in fields(row)]
    return tuple(others[name] if name in others else table.c[name] for name in names)
