"""Writes segments again without the events that are rows already.

All files of a batch that loses rows become files of a new batch. So a catalog that is rebuilt
from the bucket chooses between the two and prefers the newer one, which was registered. A batch
that loses all rows has no newer one, so its files are deleted: a rebuild would bring them back.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from dataplane.babies.events import hashes_of
from dataplane.babies.reads import DatasetWork
from nursery.execution.dataset_execution import PRODUCER, OpenBatch
from nursery.execution.segment_files import write_one
from nursery.results import WrittenSegment
from segments.parquet.footer import SegmentFooter, merged_footer
from segments.parquet.lineage import BatchPart
from segments.parquet.reader import read_footer, read_segment
from segments.signals import Signal
from segments.store.interface import ObjectStore


def without_events(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
    folder: Path,
) -> tuple[WrittenSegment, ...]:
    """Write the segments of one task and dataset without the events with some identities.

    Batches that have none of them stay. Raises StoreError, CorruptObject.
    """
    batches: dict[str, list[WrittenSegment]] = {}
    footers: dict[str, list[SegmentFooter]] = {}
    for segment in segments:
        footer = read_footer(store, segment.key).footer
        batch_id = footer.batches[0].batch_id
        batches.setdefault(batch_id, []).append(segment)
        footers.setdefault(batch_id, []).append(footer)
    written: list[WrittenSegment] = []
    for batch_id, own in batches.items():
        kept = list(_kept_rows(store, work, own, excluded))
        if sum(kept) == sum(segment.rows for segment in own):
            written += own
            continue
        left = [segment for segment, rows in zip(own, kept, strict=True) if rows]
        if not left:
            # Never registered: meta refused the call that named them, or was not asked yet.
            store.delete([segment.key for segment in own])
            continue
        # A file that is left out may be the only one of a baby.
        footer = merged_footer(work.dataset_id, PRODUCER, footers[batch_id])
        written += _rewritten(store, work, left, excluded, footer, folder)
    return tuple(written)


def _kept_rows(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
) -> Iterator[int]:
    for segment in segments:
        tables = _without(read_segment(store, segment.key), work, excluded)
        yield sum(table.num_rows for table in tables.values())


def _rewritten(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
    lineage: SegmentFooter,
    folder: Path,
) -> Iterator[WrittenSegment]:
    batch = OpenBatch()
    for part, segment in enumerate(segments, start=1):
        count = len(segments) if part == len(segments) else 0
        footer = replace(lineage, batches=(BatchPart(batch.batch_id, part, count),))
        tables = _without(read_segment(store, segment.key), work, excluded)
        path = folder / f"{batch.batch_id}-{part}.parquet"
        yield write_one(store, work, tables, footer, path, batch.key(work, part))


def _without(
    tables: Mapping[Signal, pa.Table], work: DatasetWork, excluded: Collection[bytes]
) -> dict[Signal, pa.Table]:
    """Leave out log records with some identities, and sections without rows."""
    identity = work.spec.identity
    assert identity is not None
    left = dict(tables)
    if "logs" in left:
        hashes = hashes_of(left["logs"].column(identity.column))
        mask = pa.array([digest not in excluded for digest in hashes], pa.bool_())
        left["logs"] = left["logs"].filter(mask)
    return {signal: table for signal, table in left.items() if table.num_rows}
