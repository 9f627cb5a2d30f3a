"""Keyset pages: a range of a filtered list in the order of its ids, with an exact total."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import Executable, Select, func, select

from meta.store.engine.pool import Transaction

Item = TypeVar("Item")
Other = TypeVar("Other")
# Upper bound of an item's message without its texts: ids, times, tags.
ITEM_BYTES = 256


@dataclass(frozen=True, slots=True)
class Window:
    """The requested range; at most one of `after` and `before` is set."""

    limit: int
    bytes_max: int
    after: UUID | None = None
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items in id order; `preceding` counts the list's items before the first of them."""

    items: tuple[Item, ...]
    ids: tuple[UUID, ...]
    total: int
    preceding: int
    # Estimated size of the reply; above the bound only if a single item is.
    size_bytes: int = 0

    @property
    def has_next(self) -> bool:
        """True if the list continues after this page."""
        return self.preceding + len(self.ids) < self.total

    def map(self, convert: Callable[[Item], Other]) -> "Page[Other]":
        """The same page of converted items."""
        items = tuple(map(convert, self.items))
        return Page(items, self.ids, self.total, self.preceding, self.size_bytes)


def read(tx: Transaction, query: Select[*tuple[Any, ...]], window: Window) -> Page[UUID]:
    """Read the ids of a page: of `query`, which yields ids and the bytes of their texts.

    The page ends at the limit or once its texts reach `bytes_max`, but holds at least one item.
    Texts are fetched afterwards, for these ids only.
    """
    listed = query.order_by(None).subquery("listed")
    id_column, size_column = listed.c
    stretch = select(id_column, size_column).limit(window.limit)
    if window.before is not None:
        stretch = stretch.where(id_column < window.before).order_by(id_column.desc())
    else:
        stretch = stretch.order_by(id_column)
    if window.after is not None:
        stretch = stretch.where(id_column > window.after)
    ids, size_bytes = _fitting(tx.execute(stretch).all(), window.bytes_max)
    if window.before is not None:
        ids.reverse()
    # An empty page behind a cursor has the whole list before it, one before a cursor nothing.
    before_page = id_column < ids[0] if ids else id_column <= (window.after or UUID(int=0))
    counts = select(func.count(), func.count().filter(before_page)).select_from(listed)
    total, preceding = tx.execute(counts).one()
    return Page(tuple(ids), tuple(ids), total, preceding, size_bytes)


def read_rows(
    tx: Transaction,
    query: Select[*tuple[Any, ...]],
    window: Window,
    by_ids: Executable,
    make: Callable[..., Item],
) -> Page[Item]:
    """Read a page of items: rows of `by_ids`, which begin with an id, as arguments of `make`."""
    page = read(tx, query, window)
    items = {row[0]: make(*row) for row in tx.execute(by_ids, {"ids": list(page.ids)})}
    return page.map(items.__getitem__)


def _fitting(rows: Any, bytes_max: int) -> tuple[list[UUID], int]:
    ids: list[UUID] = []
    size_bytes = 0
    for item_id, text_bytes in rows:
        item_bytes = ITEM_BYTES + int(text_bytes or 0)
        if ids and size_bytes + item_bytes > bytes_max:
            break
        ids.append(item_id)
        size_bytes += item_bytes
    return ids, size_bytes
