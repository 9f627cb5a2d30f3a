"""Merge join of expected objects with a listing, both in the order of keys.

Python orders text by code points and object stores by UTF-8 bytes, which is the same order.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar


class Expected(Protocol):
    """A row that names an object."""

    @property
    def object_key(self) -> str:
        """The object's key."""
        ...


Row = TypeVar("Row", bound=Expected)
Item = TypeVar("Item")


def match(
    rows: Iterable[Row], objects: Iterable[Item], key_of: Callable[[Item], str]
) -> Iterator[tuple[Row | None, Item | None]]:
    """Pair each row with the listed object of its key; None where there is no other side.

    Raises ValueError for a side that is out of order: its pairs would be wrong.
    """
    expected = _ordered(rows, lambda row: row.object_key)
    listed = _ordered(objects, key_of)
    row, item = next(expected, None), next(listed, None)
    while row is not None or item is not None:
        is_row = row is not None and (item is None or row[0] <= item[0])
        is_item = item is not None and (row is None or item[0] <= row[0])
        yield row[1] if row and is_row else None, item[1] if item and is_item else None
        if is_row:
            row = next(expected, None)
        if is_item:
            item = next(listed, None)


def _ordered(items: Iterable[Item], key_of: Callable[[Item], str]) -> Iterator[tuple[str, Item]]:
    last = ""
    for item in items:
        key = key_of(item)
        if key <= last:
            raise ValueError(f"{key!r} does not come after {last!r}")
        last = key
        yield key, item
