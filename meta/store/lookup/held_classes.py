"""The duration classes that datasets have segments in, remembered between lookups.

A dataset has a few of the classes, in any of which a lookup may have to look. Finding them costs
Postgres twice as much as the lookup of an hour in 200 datasets. What was found once stays true for
all segments up to the version it was found at, so a lookup asks for those of later versions alone.
A class whose segments are gone costs a probe.
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
# Of these a lookup sends so many; some may be deleted, or not be the caller's.
SENT_MAX = 2_000
# With more new segments than this, the classes are found anew.
NEW_SEGMENTS_MAX = 100
# By leaps in the index: a probe for each class and one to end.
_HELD = text("""
    SELECT d.key, array_agg(c.dur_class ORDER BY c.dur_class)
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
_NEW = text("""
    SELECT d.key, n.num_segments, n.classes
    FROM unnest(cast(:keys AS integer[]), cast(:versions AS bigint[])) d (key, version)
         CROSS JOIN LATERAL (
            SELECT count(*) AS num_segments, array_agg(DISTINCT dur_class) AS classes
            FROM (SELECT s.dur_class FROM segments s
                  WHERE s.dataset_key = d.key AND s.created_version > d.version
                  ORDER BY s.created_version LIMIT :most) r) n
    WHERE n.num_segments > 0
""")


@dataclass(frozen=True, slots=True)
class DatasetClasses:
    """The classes of a dataset's segments up to a version, with the texts that lookups need."""

    version: int
    classes: frozenset[int]
    keys_text: str
    classes_text: str

    @classmethod
    def of(cls, key: int, classes: frozenset[int], version: int) -> "DatasetClasses":
        """Build the texts: the key as often as there are classes, and these ascending."""
        keys = ",".join([str(key)] * len(classes))
        return cls(version, classes, keys, ",".join(map(str, sorted(classes))))


class KnownClasses(NamedTuple):
    """Remembered datasets, as array literals; a mask has bit c set for class c."""

    keys: str = "{}"
    versions: str = "{}"
    masks: str = "{}"


@dataclass(slots=True)
class HeldClasses:
    """The classes of all datasets that were looked into; for all threads of a server."""

    _known: dict[int, DatasetClasses] = field(default_factory=dict)
    # Of all of `_known`, perhaps as it was before the last change: not wrong, but older.
    _literals: KnownClasses | None = None

    def known(self, first_key: int) -> KnownClasses:
        """The remembered datasets from a key on, for a statement that finds their new segments.

        All datasets where they are few enough to send.
        """
        if len(self._known) > SENT_MAX:
            # In one step, as far as other threads see.
            known = sorted(self._known.copy().items())
            begin = bisect_left(known, first_key, key=itemgetter(0))
            return _as_literals(known[begin : begin + SENT_MAX])
        literals = self._literals
        if literals is None:
            literals = self._literals = _as_literals(list(self._known.items()))
        return literals

    def learn(self, masks: Iterable[tuple[int, int]], version: int) -> None:
        """Remember keys with the masks of their classes up to a version."""
        self._remember(
            {
                key: DatasetClasses.of(
                    key, frozenset(c for c in range(mask.bit_length()) if mask >> c & 1), version
                )
                for key, mask in masks
            }
        )

    def find(self, tx: Transaction, keys: Sequence[int], version: int) -> tuple[str, str]:
        """Pairs of key and class in the order of `keys`, as two array literals.

        `version` is the counter in the snapshot of the transaction.
        """
        known = {
            key: one
            for key in keys
            if (one := self._known.get(key)) is not None and one.version <= version
        }
        known = _with_new(tx, known, version)
        known |= read(tx, [key for key in keys if key not in known], version)
        self._remember(known)
        return literals([known[key] for key in keys])

    def _remember(self, known: dict[int, DatasetClasses]) -> None:
        if known:
            if len(self._known) + len(known) > DATASETS_MAX:
                self._known.clear()
            self._known.update(known)
            self._literals = None


def read(tx: Transaction, keys: Sequence[int], version: int = 0) -> dict[int, DatasetClasses]:
    """Find the classes of all segments, of any version, of each dataset."""
    if not keys:
        return {}
    rows = tx.execute(_HELD, {"keys": pg_arrays.numbers(keys)}).all()
    classes = {key: frozenset(own) for key, own in rows}
    return {key: DatasetClasses.of(key, classes.get(key, frozenset()), version) for key in keys}


def _as_literals(known: Sequence[tuple[int, DatasetClasses]]) -> KnownClasses:
    return KnownClasses(
        pg_arrays.numbers([key for key, _ in known]),
        pg_arrays.numbers([one.version for _, one in known]),
        pg_arrays.numbers([sum(1 << c for c in one.classes) for _, one in known]),
    )


def literals(held: Sequence[DatasetClasses]) -> tuple[str, str]:
    """Pairs of key and class as two array literals."""
    keys = ",".join([one.keys_text for one in held if one.keys_text])
    return f"{{{keys}}}", f"{{{','.join([one.classes_text for one in held if one.classes_text])}}}"


def _with_new(
    tx: Transaction, known: dict[int, DatasetClasses], version: int
) -> dict[int, DatasetClasses]:
    """Add the classes of later segments; without the datasets that have too many of them."""
    if not known:
        return {}
    values = {
        "keys": pg_arrays.numbers(known),
        "versions": pg_arrays.numbers([one.version for one in known.values()]),
        "most": NEW_SEGMENTS_MAX,
    }
    for key, num_segments, classes in tx.execute(_NEW, values).all():
        before = known.pop(key)
        if num_segments < NEW_SEGMENTS_MAX:
            known[key] = DatasetClasses.of(key, before.classes.union(classes), version)
    return known
