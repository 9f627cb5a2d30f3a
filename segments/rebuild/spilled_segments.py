"""Merged segments of a bucket, spilled to a temporary file: footers may be larger than memory.

listing --- add ---> file --- lineages of one dataset after the other ---> plan
^                                                     |
+------------- choose: the live segments -------------+
|
+--- LiveSegments, which reads them anew for each use
"""

import json
import pickle
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from sys import intern

from segments.inventory.contents import SegmentFound
from segments.keys import MergedKey, parse_key
from segments.parquet.spec import SegmentSpec

MERGE_INPUTS_MAX = 16
MERGE_COUNT_MAX = 4
# Memory for pages of the file.
_CACHE_KIB = 16 * 1024
_TABLE = """
    CREATE TABLE segments (dataset TEXT, key TEXT, is_live INTEGER, merge_count INTEGER, body BLOB,
      PRIMARY KEY (dataset, key)) WITHOUT ROWID
"""
_ADD = "INSERT INTO segments VALUES (?, ?, 0, ?, ?)"
_SET_LIVE = "UPDATE segments SET is_live = 1 WHERE dataset = ? AND key = ?"
_AMONG = "key IN (SELECT value FROM json_each(?))"
_LIVE = "FROM segments WHERE is_live ORDER BY dataset"


class SpilledSegments:
    """Segments by dataset and key, in a file that goes with its process."""

    def __init__(self, segments: Iterable[SegmentFound] = ()) -> None:
        # A database without a name is a file of SQLite's own, which is unlinked already. All is one
        # transaction, which is never committed.
        self._file = sqlite3.connect("")
        for pragma in (f"cache_size = -{_CACHE_KIB}", "journal_mode = OFF"):
            self._file.execute(f"PRAGMA {pragma}")
        self._file.execute(_TABLE)
        self.add(segments)

    def add(self, segments: Iterable[SegmentFound]) -> None:
        """Add segments, each of which comes once."""
        rows = ((s.footer.dataset_id, s.key, merge_count_of(s), pickle.dumps(s)) for s in segments)
        self._file.executemany(_ADD, rows)

    def __len__(self) -> int:
        return self._count("")

    def __iter__(self) -> Iterator[SegmentFound]:
        """Read all segments, by dataset and in the order of keys."""
        return self._read("FROM segments ORDER BY dataset, key")

    def lineages(self, dataset_id: str) -> list[SegmentFound]:
        """Read a dataset's segments without content, counts and sizes, in the order of keys."""
        specs: dict[SegmentSpec, SegmentSpec] = {}
        return [
            _lineage(segment, specs.setdefault(segment.spec, segment.spec))
            for segment in self._read("FROM segments WHERE dataset = ? ORDER BY key", dataset_id)
        ]

    def among(self, keys: Collection[str]) -> frozenset[str]:
        """Return those of some keys that segments have."""
        rows = self._file.execute(f"SELECT key FROM segments WHERE {_AMONG}", (_array(keys),))  # noqa: S608
        return frozenset(key for (key,) in rows)

    def remove(self, keys: Collection[str]) -> None:
        """Remove segments."""
        self._file.execute(f"DELETE FROM segments WHERE {_AMONG}", (_array(keys),))  # noqa: S608

    def choose(self, dataset_id: str, keys: Iterable[str]) -> None:
        """Choose segments of a dataset as live."""
        self._file.executemany(_SET_LIVE, ((dataset_id, key) for key in keys))

    def hide(self, keys: Collection[str]) -> list[str]:
        """Take chosen segments back; returns those of the keys that were chosen, in order."""
        statement = f"UPDATE segments SET is_live = 0 WHERE is_live AND {_AMONG} RETURNING key"  # noqa: S608
        return sorted(key for (key,) in self._file.execute(statement, (_array(keys),)))

    def live(self) -> "LiveSegments":
        """Return the chosen segments."""
        return LiveSegments(self)

    def _read(self, what: str, *values: str) -> Iterator[SegmentFound]:
        for (body,) in self._file.execute(f"SELECT body {what}", values):
            segment: SegmentFound = pickle.loads(body)  # noqa: S301 - written by this process
            yield segment

    def _count(self, where: str) -> int:
        (number,) = self._file.execute(f"SELECT count(*) FROM segments {where}").fetchone()  # noqa: S608
        return int(number)


class LiveSegments:
    """The chosen segments of a bucket, by dataset and in the order of keys."""

    def __init__(self, spilled: SpilledSegments) -> None:
        self._spilled = spilled

    def __len__(self) -> int:
        return self._spilled._count("WHERE is_live")

    def __iter__(self) -> Iterator[SegmentFound]:
        return self._spilled._read(f"{_LIVE}, key")

    def by_merge_count(self) -> Iterator[SegmentFound]:
        """Read them by dataset and by how often they were merged."""
        return self._spilled._read(f"{_LIVE}, merge_count, key")


def merge_count_of(segment: SegmentFound) -> int:
    """Guess how often the rows of a segment were merged, by the number of its batches."""
    if isinstance(parse_key(segment.key), MergedKey):
        return 0
    # Days of one part may be apart.
    parts = len({(batch.batch_id, batch.part) for batch in segment.footer.batches})
    count, inputs = 1, MERGE_INPUTS_MAX
    while inputs < parts and count < MERGE_COUNT_MAX:
        count, inputs = count + 1, inputs * MERGE_INPUTS_MAX
    return count


def _lineage(segment: SegmentFound, spec: SegmentSpec) -> SegmentFound:
    """Return what a choice among segments needs, with ids that segments have in common."""
    footer = replace(
        segment.footer,
        dataset_id=intern(segment.footer.dataset_id),
        producer="",
        batches=tuple(replace(b, batch_id=intern(b.batch_id)) for b in segment.footer.batches),
        ranges=tuple(replace(r, stream_id=intern(r.stream_id)) for r in segment.footer.ranges),
    )
    return SegmentFound(segment.key, footer, *(0, 0, 0, 0, 0), segment.modified_at_nanos, spec)


def _array(keys: Iterable[str]) -> str:
    return json.dumps(sorted(keys))
