"""Parts of pages of segments, as one statement answers them."""

from collections.abc import Sequence
from typing import NamedTuple


class SegmentColumns(NamedTuple):
    """Columns of the table of segments, in the order of a page."""

    message: Sequence[bytes] = ()
    created_version: Sequence[int] = ()
    tombstone_version: Sequence[int | None] = ()
    crc32c: Sequence[int | None] = ()
    foreign_file: Sequence[bytes | None] = ()
    facts: Sequence[bytes | None] = ()


class PagePart(NamedTuple):
    """A part of a page as its statement answers it, with the segment behind it, if there is one.

    `new_masks` has the key, from bit 18 on, and classes of a dataset with new segments,
    `unknown_keys` those whose classes are not known. `last_key` is that of the part, None if there
    are no datasets behind it. `pairs` has for each segment the key of its dataset, from bit 5 on,
    and its class. Of a page that is not readable only the first four are answers.
    """

    is_readable: bool
    is_current: bool
    counter: int
    now_secs: int
    version: int
    new_masks: Sequence[int]
    unknown_keys: Sequence[int]
    last_key: int | None
    pairs: Sequence[int]
    columns: SegmentColumns
