"""meta with the lookup of the release before: a message object for every segment of a page.

`python -m benchmarks.harness.message_lookup` serves like `python -m meta`. It is the reference of
the benchmark of lookups and changes no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import grpc
from sqlalchemy import ARRAY, BigInteger, Integer, SmallInteger, Text, Uuid, bindparam, text

from meta import __main__
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.server import server
from meta.services.lookup.checked_lookup import CheckedLookup, LookupCursor
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.services.messages import convert
from meta.store.engine.pool import Transaction
from meta.store.lookup import lookup
from meta.store.lookup.lookup import Position, VisibleDataset
from meta.store.lookup.page_statement import DATASETS_PROBED_MAX
from meta.store.segments.segments import (
    DURATION_CLASS_MAX,
    NUM_COLUMNS,
    ROW_COLUMNS,
    STORED_COLUMNS,
    SegmentRow,
    class_span_nanos,
)
from meta.store.versions import versions
from meta.v1 import segment_lookup_pb2 as pb
from segments.location import Stores

_DATASETS_AT_ONCE = 250
_ID_MAX = UUID(int=2**128 - 1)
_CLASSES = range(DURATION_CLASS_MAX + 1)
# The classes of each dataset, by leaps in the index: a probe for each class and one to end.
_CLASSES_HELD = text("""
    SELECT d.key, c.dur_class
    FROM unnest(cast(:keys AS integer[])) WITH ORDINALITY d (key, place)
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
    ORDER BY d.place, c.dur_class
""").bindparams(bindparam("keys", type_=ARRAY(Integer)))
_FIND = text(f"""
    SELECT {ROW_COLUMNS}, d.key, d.dur_class
    FROM unnest(cast(:keys AS integer[]), cast(:dataset_ids AS text[]),
                cast(:classes AS smallint[]), cast(:lows AS bigint[]), cast(:ids AS uuid[]))
             WITH ORDINALITY d (key, id, dur_class, low, last_id, place)
         CROSS JOIN LATERAL (
            SELECT {STORED_COLUMNS}
            FROM segments
            WHERE dataset_key = d.key AND dur_class = d.dur_class
              AND (start_ns, id) > (d.low, d.last_id) AND start_ns <= :last_ns
              AND end_ns >= :start_ns AND created_version <= :version
              AND (tombstone_version IS NULL OR tombstone_version > :version)
              AND (cast(:signals AS smallint) IS NULL OR signals IS NULL
                   OR signals & cast(:signals AS smallint) <> 0)
            ORDER BY start_ns, id LIMIT :most
         ) s
    ORDER BY d.place, s.start_ns, s.id LIMIT :most
""").bindparams(  # noqa: S608
    bindparam("keys", type_=ARRAY(Integer)),
    bindparam("dataset_ids", type_=ARRAY(Text)),
    bindparam("classes", type_=ARRAY(SmallInteger)),
    bindparam("lows", type_=ARRAY(BigInteger)),
    bindparam("ids", type_=ARRAY(Uuid)),
)


@dataclass(frozen=True, slots=True)
class Query:
    """Segments in a closed range of event time, at a version, behind a position."""

    start_ns: int
    last_ns: int
    version: int
    behind: Position | None = None
    signals: int | None = None


def find(
    tx: Transaction, query: Query, datasets: list[VisibleDataset], most: int
) -> list[tuple[SegmentRow, int, int]]:
    """Up to `most` segments, each with dataset key and duration class."""
    found: list[tuple[SegmentRow, int, int]] = []
    behind = query.behind
    left = [d for d in datasets if behind is None or d.key >= behind.dataset_key]
    while left and len(found) < most:
        batch, left = left[:_DATASETS_AT_ONCE], left[_DATASETS_AT_ONCE:]
        if len(batch) > DATASETS_PROBED_MAX or left:
            pairs = _classes_held(tx, batch)
        else:
            pairs = [(dataset, dur_class) for dataset in batch for dur_class in _CLASSES]
        found += _find(tx, query, pairs, most - len(found))
    return found


def _find(
    tx: Transaction, query: Query, pairs: list[tuple[VisibleDataset, int]], most: int
) -> list[tuple[SegmentRow, int, int]]:
    edges = [_edge(dataset.key, dur_class, query) for dataset, dur_class in pairs]
    values = {
        "keys": [dataset.key for dataset, _ in pairs],
        "dataset_ids": [str(dataset.id) for dataset, _ in pairs],
        "classes": [dur_class for _, dur_class in pairs],
        "lows": [low for low, _ in edges],
        "ids": [last_id for _, last_id in edges],
        "start_ns": query.start_ns,
        "last_ns": query.last_ns,
        "version": query.version,
        "signals": query.signals,
        "most": most,
    }
    rows = tx.execute(_FIND, values).all()
    return [(SegmentRow._make(row[:NUM_COLUMNS]), *row[NUM_COLUMNS:]) for row in rows]


def _classes_held(
    tx: Transaction, batch: Sequence[VisibleDataset]
) -> list[tuple[VisibleDataset, int]]:
    """The duration classes of which each dataset has segments, of any version, in this order."""
    by_key = {dataset.key: dataset for dataset in batch}
    rows = tx.execute(_CLASSES_HELD, {"keys": list(by_key)}).all()
    return [(by_key[key], dur_class) for key, dur_class in rows]


def _edge(dataset_key: int, dur_class: int, query: Query) -> tuple[int, UUID]:
    """The (start, id) behind which a class may still have overlapping segments."""
    low = max(lookup.INT64_MIN, query.start_ns - class_span_nanos(dur_class)), _ID_MAX
    behind = query.behind
    if behind is None or (dataset_key, dur_class) > (behind.dataset_key, behind.dur_class):
        return low
    if (dataset_key, dur_class) < (behind.dataset_key, behind.dur_class):
        return lookup.INT64_MAX, _ID_MAX
    return max(low, (behind.start_ns, behind.segment_id))


class MessageLookupServicer(SegmentLookupServicer):
    """SegmentLookupService as it was, for rows without facts: rows to messages to bytes."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        super().__init__(transactions, settings)
        self._location = settings.location

    def FindSegments(  # type: ignore[override]  # noqa: N802
        self, request: pb.FindSegmentsRequest, _context: grpc.ServicerContext
    ) -> pb.FindSegmentsResponse:
        """Page through the segments that overlap a range."""
        checked = CheckedLookup.of(request)
        return self._transactions.read(lambda tx: self._answer(tx, checked))

    def _answer(self, tx: Transaction, checked: CheckedLookup) -> pb.FindSegmentsResponse:
        snapshot = versions.snapshot(tx)
        cursor = checked.cursor
        version = lookup.readable_version(tx, snapshot, cursor.version if cursor else checked.as_of)
        datasets = lookup.visible_datasets(tx, checked.names, version)
        behind = cursor.position if cursor else None
        query = Query(checked.start_ns, checked.last_ns, version, behind, checked.signals)
        matches = find(tx, query, list(datasets), checked.limit + 1)
        rows = [row for row, _, _ in matches[: checked.limit]]
        reply = pb.FindSegmentsResponse(page=pb.PagedResponse(), snapshot_version=version)
        if len(rows) < len(matches):
            row, key, dur_class = matches[len(rows) - 1]
            position = Position(key, dur_class, row.start_ns, UUID(row.id))
            began = cursor.began_secs if cursor else snapshot.now_secs
            reply.page.next_cursor = checked.encode(LookupCursor(version, began, position))
        convert.add_segments(reply.segments, Stores(self._location), rows)
        return reply


if __name__ == "__main__":
    server.SegmentLookupServicer = MessageLookupServicer  # type: ignore[attr-defined]
    __main__.main()
