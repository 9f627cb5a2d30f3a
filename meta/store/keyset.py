"""Keyset pages: a stretch of a filtered list in the order of its ids, with an exact total."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import Column, Row, Select, func, select

from meta.store.engine import Transaction

Item = TypeVar("Item")
Other = TypeVar("Other")
# Rows may hold long texts, of which a page ends early: read a few at a time.
_CHUNK_ROWS = 100


@dataclass(frozen=True, slots=True)
class Window:
    """Which stretch is wanted; at most one of `after` and `before` is set."""

    limit: int
    bytes_max: int
    after: UUID | None = None
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items in id order; `preceding` counts what the list holds before the first of them."""

    items: tuple[Item, ...]
    ids: tuple[UUID, ...]
    total: int
    preceding: int

    def map(self, convert: Callable[[Item], Other]) -> "Page[Other]":
        """The same page of converted items."""
        return Page(tuple(map(convert, self.items)), self.ids, self.total, self.preceding)

    @property
    def has_next(self) -> bool:
        """True if the list goes on behind this page."""
        return self.preceding + len(self.items) < self.total


def read(
    tx: Transaction, query: Select[*tuple[Any, ...]], id_column: Column[UUID], window: Window
) -> Page[Row[*tuple[Any, ...]]]:
    """Read one page of `query`, whose first column is `id_column`.

    The page ends at the limit or where its texts reach `bytes_max`, but holds at least one row.
    """
    rows = _stretch(tx, query, id_column, window)
    anchor = rows[0][0] if rows else window.after
    listed = query.order_by(None).subquery()
    listed_id = listed.c[id_column.name]
    before_anchor = listed_id < anchor if rows else listed_id <= anchor
    if not rows and anchor is None:
        # An empty page before a cursor, or of an empty list: nothing precedes it.
        before_anchor = listed_id.is_(None)
    total, preceding = tx.execute(
        select(func.count(), func.count().filter(before_anchor)).select_from(listed)
    ).one()
    return Page(tuple(rows), tuple(row[0] for row in rows), total, preceding)


def _stretch(
    tx: Transaction, query: Select[*tuple[Any, ...]], id_column: Column[UUID], window: Window
) -> list[Row[*tuple[Any, ...]]]:
    is_backward = window.before is not None
    edge = window.before if is_backward else window.after
    order = id_column.desc() if is_backward else id_column
    rows: list[Row[*tuple[Any, ...]]] = []
    size_bytes = 0
    while len(rows) < window.limit:
        wanted = min(_CHUNK_ROWS, window.limit - len(rows))
        bounded = query.order_by(order).limit(wanted)
        if edge is not None:
            bounded = bounded.where(id_column < edge if is_backward else id_column > edge)
        chunk = tx.execute(bounded).all()
        for row in chunk:
            size_bytes += _size_bytes(row)
            if rows and size_bytes > window.bytes_max:
                break
            rows.append(row)
        if len(chunk) < wanted or size_bytes > window.bytes_max:
            break
        edge = chunk[-1][0]
    return rows[::-1] if is_backward else rows


def _size_bytes(row: Row[*tuple[Any, ...]]) -> int:
    # An item's fixed parts (ids, times, tags) never come to more than the first term.
    return 256 + sum(len(value.encode()) for value in row if isinstance(value, str))
