"""Real segments of a dataset: written to the store of a meta under test, and registered."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pyarrow as pa

from dataplane.dataset_layout import read_layout
from dataplane.registration import create_segment
from meta.client import MetaClient, location
from meta.v1 import common_pb2, ingestion_pb2
from meta.v1 import operations_pb2 as pb
from segments.keys import new_merged_key
from segments.parquet.footer import FORMAT_VERSION, SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segments.store.open import open_store
from tests.support.meta.segments import DAY, EPOCH
from tests.support.parquet.old_files import give_float_bounds
from tests.support.parquet.rows import rows_of, write_segment


@dataclass
class SegmentWriter:
    """Writes segments of one dataset, and remembers what it wrote."""

    client: MetaClient
    dataset: str
    folder: Path
    files: int = 0
    has_token_index: bool = False
    # As release 0.2.0 wrote them.
    has_float_bounds: bool = False
    batches: tuple[BatchPart, ...] = ()
    rows: list[tuple[str, int]] = field(default_factory=list)
    # What each segment holds, as sorted.
    sections: list[dict[Signal, pa.Table]] = field(default_factory=list)
    # Of each writer alone: rows do not depend on the tests that ran before.
    _seeds: Iterator[int] = field(default_factory=count)

    def write(
        self,
        day: int = 0,
        rows: int = 20,
        signals: tuple[Signal, ...] = ("logs",),
        days: int = 1,
        format_version: int = FORMAT_VERSION,
        is_known: bool = True,
    ) -> str:
        """Register a segment of `rows` records a signal on some days; returns its id.

        Of one that is not known, meta has no facts.
        """
        spec = self.spec()
        tables = {}
        for signal in signals:
            start = EPOCH + day * DAY
            times = [start + n * days * DAY // rows + n for n in range(rows)]
            tables[signal] = _with_times(rows_of(signal, rows, spec, next(self._seeds)), times)
            self.rows += [(signal, time) for time in times]
        return self.register(tables, spec, format_version, is_known)

    def register(
        self,
        tables: dict[Signal, pa.Table],
        spec: SegmentSpec,
        format_version: int = FORMAT_VERSION,
        is_known: bool = True,
        footer: SegmentFooter | None = None,
    ) -> str:
        """Write and register a segment of these tables."""
        key = new_merged_key(self.dataset)
        path = self.folder / key.rpartition("/")[2]
        footer = footer or SegmentFooter(self.dataset, "test", self.batches)
        footer = replace(footer, format_version=format_version)
        sections, facts = write_segment(
            path, tables, spec, footer, has_token_index=self.has_token_index
        )
        if self.has_float_bounds:
            facts = give_float_bounds(path, facts)
        self.sections.append(sections)
        reply = self.client.ingestion.DownloadConfig(
            ingestion_pb2.DownloadConfigRequest(worker_id="test", omit_datasets=True)
        )
        bucket = reply.cloud_object_prefix.bucket
        open_store(location(bucket)).put_file_if_absent(key, path)
        self.files += 1
        segment = create_segment(self.dataset, bucket, key, facts)
        if self.has_float_bounds:
            segment.written_facts.has_exact_bounds = False
        if not is_known:
            segment.ClearField("facts")
        return self._save(segment)

    def _save(self, segment: common_pb2.CreateSegment) -> str:
        request = ingestion_pb2.SaveSegmentsRequest(segments=[segment])
        return str(self.client.ingestion.SaveSegments(request).ids[0])

    def spec(self) -> SegmentSpec:
        """The dataset's columns as they are set now."""
        request = pb.GetDatasetSettingsRequest(dataset_id=self.dataset)
        settings = self.client.operations.GetDatasetSettings(request).settings
        columns = settings.automatic_columns
        written = [column for column in columns.columns if columns.enabled and column.written]
        return read_layout((), settings.promoted_columns.columns, automatic=written)


def _with_times(table: pa.Table, times: list[int]) -> pa.Table:
    place = table.schema.get_field_index("timestamp")
    column = pa.array(times, table.schema.field("timestamp").type)
    return table.set_column(place, table.schema.field("timestamp"), column)
