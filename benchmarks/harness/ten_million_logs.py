"""Ten million log records of a day: large merged segments, and small ones of the last hours.

The values are those of `merged_segments`. Each nursery segment is of ten minutes, and 16 of them
make a merged segment. The text `zebrafish` is in one record of each twentieth segment.
"""

import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness.indexed_segments import merge_input
from benchmarks.harness.merged_segments import (
    DATASET_ID,
    HOUR_NANOS,
    HOUR_START,
    ROWS,
    section_rows,
    with_texts,
)
from segments.location import StoreLocation
from segments.merging.merge import MergeOrder, merge_segments
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.store.open import open_store

SEGMENTS, ROWS_EACH = 80, 125_000
_MERGED, _INPUTS = 4, 16
STEP_NANOS = 600 * 10**9
START_NANOS = HOUR_START
END_NANOS = START_NANOS + SEGMENTS * STEP_NANOS
TEXT, _TEXT_EVERY = "zebrafish", 20
Files = list[tuple[Path, SegmentFacts]]


def ten_million_logs(folder: Path) -> Files:
    """Return the segments below a folder, written if they are not there, with their facts."""
    kept = folder / "files.pickle"
    if kept.exists():
        files: Files = pickle.loads(kept.read_bytes())  # noqa: S301 - written below
        return files
    folder.mkdir(parents=True, exist_ok=True)
    files = [_write(folder, seed) for seed in range(SEGMENTS)]
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    for number in range(_MERGED):
        inputs = [path for path, _ in files[number : number + _INPUTS]]
        out = folder / f"merged-{number}"
        out.mkdir()
        order = MergeOrder(DATASET_ID, "benchmark", SegmentSpec())
        facts = merge_segments(store, [merge_input(path) for path in inputs], order, out).facts
        path = Path(shutil.move(out / "merged.parquet", folder / f"merged-{number}.parquet"))
        files[number : number + _INPUTS] = [(path, facts)]
        for used in inputs:
            used.unlink()
    kept.write_bytes(pickle.dumps(files))
    return files


def _write(folder: Path, seed: int) -> tuple[Path, SegmentFacts]:
    path = folder / f"{seed:02}.parquet"
    footer = SegmentFooter(
        DATASET_ID,
        "benchmark",
        (BatchPart(f"batch-{seed}", 1, 1),),
        (OffsetSpan("stream", seed * 10, seed * 10 + 9),),
    )
    logs = _moved(section_rows(seed, ROWS_EACH / ROWS["logs"])["logs"], seed)
    if seed % _TEXT_EVERY == 0:
        logs = with_texts(logs, [TEXT])
    with SegmentWriter(path, ("logs",), SegmentSpec(), footer) as writer:
        writer.write("logs", sort_table(logs, SegmentSpec(), "logs"))
        return path, writer.close()


def _moved(logs: pa.Table, seed: int) -> pa.Table:
    """Return records of one hour as those of one step."""
    place = logs.schema.get_field_index("timestamp")
    type_ = logs.schema.field(place).type
    nanos = pc.subtract(logs["timestamp"].cast(pa.int64()), HOUR_START)
    nanos = pc.divide(nanos, HOUR_NANOS // STEP_NANOS)
    nanos = pc.add(nanos, START_NANOS + seed * STEP_NANOS)
    return logs.set_column(place, logs.schema.field(place), nanos.cast(type_))
