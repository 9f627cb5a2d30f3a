"""A search for a rare text in 1,000 segments with token indexes: the files and bytes that it reads.

Each segment has 20,800 rows of its own, and an index as merges of large segments write it. Each of
TERMS texts is in one record of one segment, and is searched for in KQL, through a real meta. Bytes
are those that this process reads of files, pages of the indexes included.
"""

import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.harness.indexed_segments import answered, registered, search_plan
from benchmarks.harness.merged_segments import DATASET_ID, section_rows, with_texts
from benchmarks.harness.results import Result, compare
from meta.client import MetaClient
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS
from segments.token_index.builder import TokenIndexBuilder
from segplane.query.sources import QueryPlace

SEGMENTS, SHARE = 1_000, 1 / 6
TERMS = 20
# A block of every index is read anyway, so bytes are what a search costs.
FILES_BAR, BYTES_BAR = 50.0, 0.01


def run() -> list[Result]:
    """Write the segments, register them, and search for each of the texts."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            facts = list(pool.map(partial(_write, folder), range(SEGMENTS), chunksize=8))
        return _search(folder, facts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _text(seed: int) -> str:
    return f"zebrafish{seed:04}"


def _path(folder: Path, seed: int) -> Path:
    return folder / f"{seed:04}.parquet"


def _write(folder: Path, seed: int) -> SegmentFacts:
    tables = section_rows(seed, SHARE)
    if seed < TERMS:
        tables["logs"] = with_texts(tables["logs"], [_text(seed)])
    spec, footer = SegmentSpec(), SegmentFooter(DATASET_ID, "benchmark")
    index = TokenIndexBuilder()
    with SegmentWriter(_path(folder, seed), SIGNALS, spec, footer, index=index) as writer:
        for signal, table in tables.items():
            writer.write(signal, sort_table(table, spec, signal))
        return writer.close()


def _search(folder: Path, facts: list[SegmentFacts]) -> list[Result]:
    files = ((_path(folder, seed), own) for seed, own in enumerate(facts))
    with registered(folder, files) as (client, place):
        asked = [_ask(client, place, _text(seed)) for seed in range(TERMS)]
    kept_bytes = sum(own.compressed_size_bytes for own in facts)
    opened, read_bytes = (sum(values) / TERMS for values in zip(*asked, strict=True))
    print(
        f"  {SEGMENTS} segments, {kept_bytes / 1e6:.0f} MB;"
        f" most for one text: {max(asked)[0]} files, {max(n for _, n in asked) / 1e6:.1f} MB"
    )
    return [
        compare(
            "token_index_many_files",
            opened,
            FILES_BAR,
            reference_name=f"{FILES_BAR:.0f} of {SEGMENTS} files",
            unit="files opened for a text, mean",
            bar=1.0,
            higher_is_better=False,
        ),
        compare(
            "token_index_many_bytes",
            read_bytes / 1e6,
            kept_bytes / 1e6,
            reference_name="all bytes of the segments",
            unit="MB read for a text, mean",
            bar=BYTES_BAR,
            higher_is_better=False,
        ),
    ]


def _ask(client: MetaClient, place: QueryPlace, text: str) -> tuple[int, int]:
    """Count the records with a text; returns the files that were opened and the bytes read."""
    planned = search_plan(client, text)
    before = _read_bytes()
    with answered(planned, place) as query:
        (source,) = query.sources
        return len(source.files), _read_bytes() - before


def _read_bytes() -> int:
    text = Path("/proc/self/io").read_text()
    return int(text.partition("rchar:")[2].split()[0])
