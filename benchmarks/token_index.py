"""Token indexes: the cost of a merge that writes one, its bytes, and the search for a rare text.

Two segments of 125,000 rows are merged with an index and without, in this process, in pairs. The
output is then registered under SEGMENTS keys in a real meta, beside one file that alone has a term,
and that term is searched for in KQL: with the index, and with the terms taken out of the plan.
"""

import shutil
import tempfile
import time
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.harness.indexed_segments import (
    merge_input,
    registered,
    search,
    search_plan,
    without_index,
)
from benchmarks.harness.merged_segments import DATASET_ID, with_texts, write_segments
from benchmarks.harness.results import Result, compare
from benchmarks.harness.timing import least_cpu
from segments.facts.token_index import place_of
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, index_builder, merge_segments
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.store.open import open_store
from segments.token_index.builder import TokenIndexBuilder

PAIRS = 6
SEGMENTS = 40
ROUNDS = 3
# A file with its own term, of the rows of one input.
RARE = "zebrafish4711"
# Of the merges that a record passes through, one or two of four or five write an index.
MERGE_BAR, BYTES_BAR, SEARCH_BAR = 1.7, 0.08, 0.15


def run() -> list[Result]:
    """Merge in pairs, then search."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        inputs = [merge_input(path) for path in write_segments(folder, 2)]
        merges = {
            "with": MergeOrder(
                DATASET_ID, "benchmark", SegmentSpec(), new_index=partial(index_builder, rows_min=1)
            ),
            "without": MergeOrder(
                DATASET_ID, "benchmark", SegmentSpec(), new_index=lambda _inputs: None
            ),
        }
        costs: dict[str, list[float]] = {name: [] for name in merges}
        for pair in range(PAIRS + 1):
            for name in list(merges) if pair % 2 else reversed(merges):
                cost, facts = _merged(folder, inputs, merges[name])
                if pair:
                    costs[name].append(cost)
                if name == "with":
                    shutil.copy(folder / "merged.parquet", folder / "indexed.parquet")
                    indexed = facts
        index = place_of(indexed.content.written)
        assert index is not None
        return [
            compare(
                "token_index_merge",
                min(costs["with"]),
                min(costs["without"]),
                reference_name="the same merge without an index",
                unit="s of CPU",
                bar=MERGE_BAR,
                higher_is_better=False,
            ),
            compare(
                "token_index_bytes",
                index.length / 1e3,
                indexed.compressed_size_bytes / 1e3,
                reference_name="the whole segment",
                unit="kB",
                bar=BYTES_BAR,
                higher_is_better=False,
            ),
            _search(folder, indexed),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _merged(
    folder: Path, inputs: list[MergeInput], order: MergeOrder
) -> tuple[float, SegmentFacts]:
    (folder / "merged.parquet").unlink(missing_ok=True)
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    began = time.process_time()
    facts = merge_segments(store, inputs, order, folder).facts
    return time.process_time() - began, facts


def _search(folder: Path, indexed: SegmentFacts) -> Result:
    files = [(folder / "indexed.parquet", indexed)] * SEGMENTS
    with registered(folder, [*files, _rare(folder)]) as (client, place):
        planned = search_plan(client, RARE)
        calls = [partial(search, asked, place) for asked in (planned, without_index(planned))]
        ours, theirs = least_cpu(calls, ROUNDS)
    return compare(
        "token_index_search",
        ours,
        theirs,
        reference_name="the same search without the index",
        unit="ms of CPU",
        bar=SEARCH_BAR,
        higher_is_better=False,
    )


def _rare(folder: Path) -> tuple[Path, SegmentFacts]:
    """The rows of a file, one of them with its own term."""
    path, footer = folder / "rare.parquet", SegmentFooter(DATASET_ID, "benchmark")
    with SegmentFile(next(folder.glob("*.parquet"))) as segment:
        table = pa.Table.from_batches(segment.batches("logs", 10_000))
    rows = with_texts(table, [RARE])
    with SegmentWriter(path, ["logs"], SegmentSpec(), footer, index=TokenIndexBuilder()) as writer:
        writer.write("logs", sort_table(rows, SegmentSpec(), "logs"))
        return path, writer.close()
