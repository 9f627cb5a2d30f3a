"""A rare text in one segment as production merges it: of 256 MiB, with ids, by default settings.

INPUTS segments of 125,000 rows of logs, metrics and spans, with two UUIDs in each record of logs
and traces, are merged as the merge worker merges them. One record has a text of its own. It is
searched for by `segplane.read`, in KQL, in both without the index, and in chDB over the same logs.
"""

import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks.harness.merged_segments import DATASET_ID, section_rows, with_text, write_segments
from benchmarks.harness.registering import save_files
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.token_index import _input
from meta.v1 import catalog_pb2
from segments.facts.token_index import place_of
from segments.location import StoreLocation
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.store.open import open_store
from segplane.query.engine import QueryLimits, opened_query
from segplane.query.runs import plan
from segplane.query.sources import QueryPlace
from segplane.read import open_dataset

INPUTS = 24
ROUNDS = 21
RARE = "zebrafish4711"
QUERY = f"web | where body has '{RARE}' | count"
CHDB = Path("build/readers/python/bin/python")
CLICKHOUSE_BAR, BYTES_BAR = 4.0, 0.08


def run() -> list[Result]:
    """Merge, register, search."""
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
    rows = with_text(section_rows(INPUTS, 1 / 60)["logs"], RARE)
    footer = SegmentFooter(DATASET_ID, "benchmark")
    with SegmentWriter(paths[-1], ["logs"], SegmentSpec(), footer) as writer:
        writer.write("logs", sort_table(rows, SegmentSpec(), "logs"))
        writer.close()
    inputs = [replace(_input(path), size_bytes=path.stat().st_size) for path in paths]
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    began = time.process_time()
    facts = merge_segments(
        store, inputs, MergeOrder(DATASET_ID, "benchmark", SegmentSpec()), folder
    ).facts
    print(
        f"  {facts.rows:,} rows, {facts.compressed_size_bytes / 2**20:.0f} MiB,"
        f" merged in {time.process_time() - began:.1f} s of CPU"
    )
    return facts


def _searches(folder: Path, facts: SegmentFacts) -> list[Result]:
    objects = folder / "objects"
    objects.mkdir()
    settings = {"META_OBJECT_STORE_URL": objects.as_uri()}
    with (
        bench_postgres() as postgres,
        bench_server(postgres.url, settings) as server,
        server.client() as client,
        duckdb.connect(config={"threads": 2}) as connection,
    ):
        dataset = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web")).id
        save_files(client, dataset, objects, [(folder / "merged.parquet", facts)])
        place, asked = QueryPlace(server.address), plan(client, QUERY, None, datetime.now(UTC))
        without = replace(asked, reads=tuple(replace(read, terms=()) for read in asked.reads))
        with (
            open_dataset("web", body_has=RARE, meta_address=server.address) as found,
            open_dataset("web", meta_address=server.address) as whole,
        ):
            found.duckdb(connection).create_view("found")
            whole.duckdb(connection).create_view("records")
            pattern = f"SELECT count(*) FROM records WHERE contains(lower(body), '{RARE}')"  # noqa: S608
            walls = {
                "read": _wall(lambda: _count(connection, "SELECT count(*) FROM found")),
                "read without": _wall(lambda: _count(connection, pattern), 3),
            }
        for name, query in (("KQL", asked), ("KQL without", without)):

            def ask(query: object = query) -> int:
                with opened_query(query, place, QueryLimits(threads=2)) as running:  # type: ignore[arg-type]
                    return int(running.reader().read_all().column(0)[0].as_py())

            walls[name] = _wall(ask, ROUNDS if name == "KQL" else 3)
    print(f"  segplane.read {walls['read']:.1f} ms")
    walls["chDB"] = _clickhouse(folder)
    print("  " + ", ".join(f"{name} {wall:.1f} ms" for name, wall in walls.items()))
    return [
        compare(
            f"token_index_large_{name.lower()}",
            walls[name],
            walls["chDB"],
            reference_name="chDB with its full-text index",
            unit="ms of wall time, median",
            bar=CLICKHOUSE_BAR,
            higher_is_better=False,
        )
        for name in ("read", "KQL")
    ]


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def _wall(call: Callable[[], int], rounds: int = ROUNDS) -> float:
    walls = []
    for _ in range(rounds):
        began = time.perf_counter()
        assert call() == 1
        walls.append((time.perf_counter() - began) * 1_000)
    return statistics.median(walls)


def _clickhouse(folder: Path) -> float:
    order = {
        "folder": str(folder),
        "path": str(folder / "merged.parquet"),
        "text": RARE,
        "rounds": ROUNDS,
    }
    script = Path(__file__).parent / "peers" / "clickhouse_text.py"
    reply = subprocess.run(
        [CHDB, script], input=json.dumps(order), stdout=subprocess.PIPE, text=True, check=True
    )
    return float(statistics.median(json.loads(reply.stdout)))
