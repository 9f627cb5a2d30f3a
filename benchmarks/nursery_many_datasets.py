"""The nursery's jobs over 5,000 datasets in 8 streams, against the same bytes of 8 datasets.

Each dataset gets one file of 80 kB of OTLP, near a cycle's default limit of bytes. Babies are the
same objects under several offsets, which saves the time to generate them. Requests to the store are
counted in their own run, over the babies once: one put a file that is written, one get that
reads it back, and the gets of babies, which are as many as their bytes are read.
"""

import os
import shutil
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from benchmarks.harness.babies import BabySet, BabySpec, write_babies
from benchmarks.harness.results import Result, compare
from benchmarks.peers import nursery_contenders
from benchmarks.peers.nursery_contenders import NurseryRun, StoreRequests
from nursery.planning.streams import BabyFacts, IngestStream
from segments.keys import baby_key
from segments.location import StoreLocation

CORES = 2
ROUNDS = 1
REPEATED = 4
SIZE_BYTES = 100_000_000
FEW = BabySpec(babies=32, datasets=8, streams=8, datasets_per_baby=8, size_bytes=SIZE_BYTES)
MOST = BabySpec(babies=160, datasets=5_000, streams=8, datasets_per_baby=250, size_bytes=SIZE_BYTES)


def run() -> list[Result]:
    """Measure both sets in one session, interleaved."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        location = StoreLocation.from_url(folder.as_uri())
        once = write_babies(location, MOST)
        few, most = (_repeated(b, folder) for b in (write_babies(location, FEW), once))
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            process.submit(nursery_contenders.start_spark, f"local[{CORES}]", "768m", None).result()
            runs = [
                tuple(
                    process.submit(
                        nursery_contenders.measure_in_spark, babies, location, CORES
                    ).result()
                    for babies in (few, most)
                )
                for _ in range(ROUNDS)
            ]
            process.submit(nursery_contenders.stop_spark).result()
            requests = process.submit(
                nursery_contenders.count_requests, once, location, CORES
            ).result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    results = _results(few, most, [few_run for few_run, _ in runs], [run for _, run in runs])
    return [*results, _requests(once, requests)]


def _repeated(babies: BabySet, folder: Path) -> BabySet:
    """Let every stream hold its babies several times."""
    streams = tuple(_repeated_stream(stream, folder) for stream in babies.streams)
    return BabySet(streams, babies.size_bytes * REPEATED, babies.records * REPEATED)


def _repeated_stream(stream: IngestStream, folder: Path) -> IngestStream:
    count = stream.committed_offset + 1
    babies: list[BabyFacts] = []
    for repetition in range(REPEATED):
        for baby in stream.babies:
            offset = baby.offset + repetition * count
            babies.append(replace(baby, offset=offset))
            if repetition:
                source = folder / baby_key(stream.stream_id, baby.offset)
                copy = folder / baby_key(stream.stream_id, offset)
                copy.parent.mkdir(parents=True, exist_ok=True)
                os.link(source, copy)
    return replace(stream, committed_offset=count * REPEATED - 1, babies=tuple(babies))


def _results(
    few: BabySet, most: BabySet, few_runs: list[NurseryRun], most_runs: list[NurseryRun]
) -> list[Result]:
    baby_bytes = sum(baby.size_bytes for stream in most.streams for baby in stream.babies)
    rate = most.size_bytes / 1e6 / statistics.median(run.seconds for run in most_runs)
    few_rate = few.size_bytes / 1e6 / statistics.median(run.seconds for run in few_runs)
    print(f"  8 datasets {few_rate:.1f} MB/s, 5,000 datasets {rate:.1f} MB/s")
    return [
        compare(
            "nursery_5000_datasets",
            rate,
            few_rate,
            reference_name="itself with 8 datasets",
            unit="MB/s",
            bar=0.35,
        ),
        compare(
            "nursery_5000_datasets_bytes_read",
            max(run.bytes_read for run in most_runs) / 1e6,
            baby_bytes / 1e6,
            reference_name="bytes of the babies",
            unit="MB read",
            bar=2.0,
            higher_is_better=False,
        ),
    ]


def _requests(babies: BabySet, requests: StoreRequests) -> Result:
    """Judge against reading every baby twice, and putting and verifying every segment."""
    num_babies = sum(len(stream.babies) for stream in babies.streams)
    print(f"  {requests.gets} gets, {requests.puts} puts: {num_babies} babies", flush=True)
    return compare(
        "nursery_5000_datasets_requests",
        requests.gets + requests.puts,
        2 * num_babies + 2 * requests.segments,
        reference_name="2 a baby read and 2 a segment written",
        unit="requests to the store",
        bar=1.0,
        higher_is_better=False,
    )
