"""The duration classes that datasets have segments in, remembered between lookups.

A dataset has a few of the classes, in any of which a lookup may have to look. Finding them costs
Postgres twice as much as the lookup of an hour in 200 datasets. A class once found stays so for all
segments up to the version it was found at, so the statement of a page
(`meta.store.lookup.page_statement`) asks for those of later versions alone. A class whose segments
are deleted costs a probe.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction

# Datasets that are remembered; 100 bytes each.
DATASETS_MAX = 100_000
# A lookup sends as many of these; some may be deleted, or not be the caller's.
SENT_MAX = 2_000
# After as many new segments the classes are read again.
NEW_SEGMENTS_MAX = 100
# Leaps in the index: a probe for each class and one to end.
_HELD = text("""
    SELECT d.key, bit_or(1 << c.dur_class)
    FROM unnest(cast(:keys AS integer[])) d (key)
         CROSS JOIN LATERAL (
            WITH RECURSIVE leaps (dur_class) AS (
                (SELECT dur_class FROM segments WHERE dataset_key = d.key
                 ORDER BY dataset_key, dur_class LIMIT 1)
                UNION ALL
                SELECT n.dur_class FROM leaps CROSS JOIN LATERAL (
                    SELECT s.dur_class FROM segments s
                    WHERE s.dataset_key = d.key AND s.dur_class > leaps.dur_class
                    ORDER BY s.dataset_key, s.dur_class LIMIT 1) n)
            SELECT dur_class FROM leaps) c
    GROUP BY d.key
""")


class KnownClasses(NamedTuple):
    """Remembered datasets, as array literals; a mask has bit c set for class c."""

    keys: str = "{}"
    versions: str = "{}"
    masks: str = "{}"


NONE_KNOWN = KnownClasses()


@dataclass(slots=True)
class HeldClasses:
    """The classes of all datasets that were looked into; for all threads of a server."""

    # For each key, the mask of the classes of all segments up to a version.
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Literals of all of `_known`, perhaps as it was before the last change: older, but not wrong.
    _literals: KnownClasses | None = None

    def known(self, first_key: int) -> KnownClasses:
        """The remembered datasets from a key on, for a statement that finds their new segments.

        All datasets if they are few enough to send.
        """
        if len(self._known) > SENT_MAX:
            # The copy is one step for other threads.
            classes = sorted(self._known.copy().items())
            begin = bisect_left(classes, first_key, key=itemgetter(0))
            return _as_literals(classes[begin : begin + SENT_MAX])
        literals = self._literals
        if literals is None:
            literals = self._literals = _as_literals(list(self._known.items()))
        return literals

    def learn(self, masks: Iterable[tuple[int, int]], version: int) -> None:
        """Remember keys with the masks of their classes up to a version."""
        classes = {key: (version, mask) for key, mask in masks}
        if classes:
            if len(self._known) + len(classes) > DATASETS_MAX:
                self._known.clear()
            self._known.update(classes)
            self._literals = None


def read(tx: Transaction, keys: Sequence[int]) -> dict[int, int]:
    """Find the mask of the classes of all segments, of any version, of each dataset."""
    masks = dict.fromkeys(keys, 0)
    for key, mask in tx.execute(_HELD, {"keys": pg_arrays.numbers(keys)}):
        masks[key] = mask
    return masks


def _as_literals(classes: Sequence[tuple[int, tuple[int, int]]]) -> KnownClasses:
    return KnownClasses(
        pg_arrays.numbers([key for key, _ in classes]),
        pg_arrays.numbers([version for _, (version, _) in classes]),
        pg_arrays.numbers([mask for _, (_, mask) in classes]),
    )
