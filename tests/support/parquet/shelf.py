"""Segments in a folder, and merges of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from segments.keys import new_merged_key
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, MergeResult, merge_segments
from segments.parquet.footer import SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segments.store.interface import ObjectStore
from tests.support.parquet.rows import DATASET, PLAIN, write_segment


@dataclass(frozen=True, slots=True)
class Shelf:
    """A store with some segments in it."""

    store: ObjectStore
    folder: Path

    def put(
        self,
        tables: Mapping[Signal, pa.Table],
        spec: SegmentSpec = PLAIN,
        footer: SegmentFooter | None = None,
    ) -> MergeInput:
        """Write a segment and describe it as meta would."""
        key = new_merged_key(DATASET)
        path = self.folder / key.rpartition("/")[2]
        footer = footer or SegmentFooter(DATASET, "test")
        _, facts = write_segment(path, tables, spec, footer)
        self.store.put_file_if_absent(key, path)
        return MergeInput(key[-20:], key, facts.rows, facts.start_time, facts.end_time)

    def merge(self, inputs: Sequence[MergeInput], order: MergeOrder) -> MergeResult:
        """Merge into the shelf's folder, in the place of an earlier output."""
        (self.folder / "merged.parquet").unlink(missing_ok=True)
        return merge_segments(self.store, inputs, order, self.folder)

    def merged(self) -> dict[Signal, pa.Table]:
        """Read the output."""
        with SegmentFile(self.folder / "merged.parquet") as segment:
            return {s: pa.Table.from_batches(segment.batches(s, 1_000)) for s in segment.signals}


def order(spec: SegmentSpec = PLAIN) -> MergeOrder:
    return MergeOrder(DATASET, "merge_worker test", spec)
