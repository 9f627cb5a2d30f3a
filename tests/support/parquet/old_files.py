"""Files as release 0.2.0 wrote them: with bounds of floating-point columns, which leave NaN out."""

from dataclasses import replace
from pathlib import Path

import google_crc32c
import pyarrow.parquet as pq

from segments.parquet.footer import SegmentFacts


def give_float_bounds(path: Path, facts: SegmentFacts) -> SegmentFacts:
    """Write a segment's file again with bounds of every flat column; returns its new facts."""
    source = pq.ParquetFile(path)
    schema = source.schema_arrow
    groups = [source.read_row_group(number) for number in range(source.num_row_groups)]
    metadata = dict(source.metadata.metadata or {})
    with pq.ParquetWriter(
        path.with_suffix(".old"), schema, store_schema=False, write_page_index=True
    ) as writer:
        for group in groups:
            writer.write_table(group)
        writer.add_key_value_metadata(metadata)  # type: ignore[arg-type]
    path.with_suffix(".old").replace(path)
    content = path.read_bytes()
    return replace(facts, compressed_size_bytes=len(content), crc32c=google_crc32c.value(content))
