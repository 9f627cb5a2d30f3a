"""A rare text in one segment as production merges it: of 256 MiB, with ids, by default settings.

INPUTS segments of 125,000 rows of logs, metrics and spans, with two UUIDs in each record of logs
and traces, are merged as the merge worker merges them. Each of TEXTS texts is in one record, and
is searched for by `segplane.read` in an open dataset, in KQL, and in chDB over the same logs, in
turns.
"""

import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.indexed_segments import (
    merge_input,
    registered,
    search,
    search_plan,
    without_index,
)
from benchmarks.harness.merged_segments import DATASET_ID, section_rows, with_texts, write_segments
from benchmarks.harness.results import Result, compare
from segments.facts.token_index import place_of
from segments.location import StoreLocation
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.store.open import open_store
from segplane.read import open_dataset
from segplane.read.rows.body_search import BodySearch

INPUTS = 24
TEXTS = [f"zebrafish{number}" for number in range(4700, 4741)]
# Texts of which the first search is not counted, and that of files without their index.
WARM, WHOLE = 5, 3
# On a busy machine CPU time differs less between runs.
CLOCKS = (("", "ms of wall time, median"), ("_cpu", "ms of CPU, median"))
CHDB = Path("build/readers/python/bin/python")
CLICKHOUSE_BAR, BYTES_BAR = 4.0, 0.08


Call = Callable[[str], None]
Times = tuple[float, float]


def run() -> list[Result]:
    """Merge, register, search."""
    assert CHDB.exists(), "chDB is missing: `make readers` installs it"
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        facts = _merged(folder)
        index = place_of(facts.content.written)
        assert index is not None
        return [
            compare(
                "token_index_large_bytes",
                index.length / 1e6,
                facts.compressed_size_bytes / 1e6,
                reference_name="the whole segment",
                unit="MB",
                bar=BYTES_BAR,
                higher_is_better=False,
            ),
            *_searches(folder, facts),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _merged(folder: Path) -> SegmentFacts:
    paths = [*write_segments(folder, INPUTS), folder / "rare.parquet"]
    rows = with_texts(section_rows(INPUTS, 1 / 60)["logs"], TEXTS)
    footer = SegmentFooter(DATASET_ID, "benchmark")
    with SegmentWriter(paths[-1], ["logs"], SegmentSpec(), footer) as writer:
        writer.write("logs", sort_table(rows, SegmentSpec(), "logs"))
        writer.close()
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    order = MergeOrder(DATASET_ID, "benchmark", SegmentSpec())
    began = time.process_time()
    facts = merge_segments(store, [merge_input(path) for path in paths], order, folder).facts
    print(
        f"  {facts.rows:,} rows, {facts.compressed_size_bytes / 2**20:.0f} MiB,"
        f" merged in {time.process_time() - began:.1f} s of CPU"
    )
    return facts


def _searches(folder: Path, facts: SegmentFacts) -> list[Result]:
    file = folder / "merged.parquet"
    with (
        _clickhouse(folder, file) as clickhouse,
        registered(folder, [(file, facts)]) as (client, place),
        open_dataset("web", columns=["body"], meta_address=place.address) as opened,
    ):

        def read(text: str) -> None:
            assert opened.body_has(text).to_table().num_rows == 1

        def read_all(text: str) -> None:
            condition = BodySearch(text, opened.columns).condition
            assert opened.source().scanner(filter=condition).count_rows() == 1

        calls: dict[str, Call] = {
            "read": read,
            "KQL": lambda text: search(search_plan(client, text), place),
        }
        whole: dict[str, Call] = {
            "read": read_all,
            "KQL": lambda text: search(without_index(search_plan(client, text)), place),
        }
        times: dict[str, list[Times]] = {name: [] for name in (*calls, "chDB")}
        for number, text in enumerate(TEXTS):
            for name in list(times) if number % 2 else reversed(times):
                spent = clickhouse(text) if name == "chDB" else _timed(calls[name], text)
                times[name] += [spent] if number >= WARM else []
        for name, call in whole.items():
            walls = [_timed(call, text)[0] for text in TEXTS[:WHOLE]]
            print(f"  {name} without the index {statistics.median(walls):.0f} ms")
    return [
        compare(
            f"token_index_large_{name.lower()}{suffix}",
            statistics.median(spent[clock] for spent in times[name]),
            statistics.median(spent[clock] for spent in times["chDB"]),
            reference_name="chDB with its full-text index",
            unit=unit,
            bar=CLICKHOUSE_BAR,
            higher_is_better=False,
        )
        for name in calls
        for clock, (suffix, unit) in enumerate(CLOCKS)
    ]


def _timed(call: Callable[[str], None], text: str) -> Times:
    began, cpu = time.perf_counter(), time.process_time()
    call(text)
    return (time.perf_counter() - began) * 1_000, (time.process_time() - cpu) * 1_000


@contextmanager
def _clickhouse(folder: Path, file: Path) -> Iterator[Callable[[str], Times]]:
    """Give the times of a search in chDB, in ms."""
    script = Path(__file__).parent / "peers" / "clickhouse_text.py"
    command = [str(CHDB), str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = process.stdout

        def answer(line: str) -> str:
            print(line, file=process.stdin, flush=True)
            reply = lines.readline()
            assert reply, f"chDB ended with code {process.wait()}"
            return reply

        assert answer(json.dumps({"folder": str(folder), "path": str(file)})) == "ready\n"

        def timed(text: str) -> Times:
            wall, cpu = map(float, answer(text).split())
            return wall, cpu

        yield timed
        process.stdin.close()
