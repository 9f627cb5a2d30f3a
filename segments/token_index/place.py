"""The place of a token index in its object, and of its pages."""

from collections.abc import Iterable
from dataclasses import dataclass

# Pages as `segments.token_index.pages` describes them. Those of kind 1 took the dotted capital I
# for a separator, so they are not asked.
KIND_PAGES = 2
PAGE_BYTES = 4096
PAGES_MAX = 4096


@dataclass(frozen=True, slots=True)
class TokenIndex:
    """The place of an index in its object, in bytes."""

    offset: int
    length: int

    @property
    def num_pages(self) -> int:
        """Pages of the index."""
        return self.length // PAGE_BYTES

    def page_of(self, term_hash: int) -> int:
        """Return the number of the page that knows of a term."""
        return (term_hash >> 32) * self.num_pages >> 32

    def span(self, pages: Iterable[int]) -> tuple[int, int]:
        """Return offset and length of the bytes from the first to the last of some pages."""
        numbers = list(pages)
        first, last = min(numbers), max(numbers)
        return self.offset + first * PAGE_BYTES, (last + 1 - first) * PAGE_BYTES

    def page_in(self, content: bytes, offset: int, number: int) -> bytes:
        """Return a page out of the bytes of the object from an offset on."""
        start = self.offset + number * PAGE_BYTES - offset
        return content[start : start + PAGE_BYTES]


def is_valid(offset: int, length: int, size_bytes: int) -> bool:
    """Return whether an object of a size can have an index at a place."""
    pages, rest = divmod(length, PAGE_BYTES)
    return 0 < offset <= size_bytes - length and not rest and 1 <= pages <= PAGES_MAX
