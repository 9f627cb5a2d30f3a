"""The nursery's job: 64 baby segments of 8 datasets, in Spark, alone, and by way of the JVM.

Then the same bytes as 500 datasets in 200 streams. Rounds are interleaved and medians compared.
Rows go through the JVM where `make bench-peers` installed pandas, which Spark's mapInArrow wants.
"""

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path

from benchmarks.harness.babies import BabySet, BabySpec, write_babies
from benchmarks.harness.results import Result, compare
from benchmarks.peers import nursery_contenders
from benchmarks.peers.merge_contenders import PEERS
from segments.location import StoreLocation

CORES = 2
ROUNDS = 3
SIZE_BYTES = 210_000_000
FEW = BabySpec(babies=64, datasets=8, streams=4, datasets_per_baby=8, size_bytes=SIZE_BYTES)
MANY = BabySpec(babies=200, datasets=500, streams=200, datasets_per_baby=25, size_bytes=SIZE_BYTES)
WARM_UP = BabySpec(babies=2, datasets=2, streams=1, datasets_per_baby=2, size_bytes=2_000_000)

# Runs one contender once over some baby segments; seconds.
Contender = Callable[[BabySet], float]


def run() -> list[Result]:
    """Measure all contenders."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    # As Spark's executors have it.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")
    try:
        location = StoreLocation.from_url(folder.as_uri())
        few, many, small = (write_babies(location, spec) for spec in (FEW, MANY, WARM_UP))
        print(f"  {few.records} records, {few.size_bytes / 1e6:.0f} MB in {FEW.babies} babies")
        with _contenders(location, folder) as contenders:
            for contender in contenders.values():
                contender(small)
            seconds = _rounds(contenders, few, many)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sizes = {"500 datasets": many.size_bytes}
    rates = {
        name: sizes.get(name, few.size_bytes) / 1e6 / statistics.median(found)
        for name, found in seconds.items()
    }
    for name, rate in rates.items():
        print(f"  {name:20} {rate:6.1f} MB/s")
    return _results(rates)


def _rounds(
    contenders: dict[str, Contender], few: BabySet, many: BabySet
) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            seconds.setdefault(name, []).append(contender(few))
        seconds.setdefault("500 datasets", []).append(contenders["two cores"](many))
    return seconds


@contextmanager
def _contenders(location: StoreLocation, folder: Path) -> Iterator[dict[str, Contender]]:
    with ExitStack() as stack:
        two = stack.enter_context(_spark(f"local[{CORES}]", "768m"))
        one = stack.enter_context(_spark("local[1]", "768m"))
        alone = stack.enter_context(_process())
        contenders: dict[str, Contender] = {
            "two cores": lambda babies: two.submit(
                nursery_contenders.merge_in_spark, babies, location, CORES
            ).result(),
            "one core": lambda babies: one.submit(
                nursery_contenders.merge_in_spark, babies, location, 1
            ).result(),
            "without Spark": lambda babies: alone.submit(
                nursery_contenders.merge_alone, babies, location
            ).result(),
        }
        if pandas := next(PEERS.glob("libraries/lib/*/site-packages/pandas"), None):
            jvm = stack.enter_context(_spark(f"local[{CORES}]", "6g", pandas.parent.absolute()))
            contenders["through the JVM"] = lambda babies: jvm.submit(
                nursery_contenders.rows_through_jvm, babies, location, folder
            ).result()
        else:
            print("  pandas is not installed: make bench-peers", flush=True)
        yield contenders


@contextmanager
def _spark(
    master: str, driver_memory: str, libraries: Path | None = None
) -> Iterator[ProcessPoolExecutor]:
    with _process() as process:
        process.submit(nursery_contenders.start_spark, master, driver_memory, libraries).result()
        try:
            yield process
        finally:
            process.submit(nursery_contenders.stop_spark).result()


@contextmanager
def _process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield process


def _results(rates: dict[str, float]) -> list[Result]:
    ours = rates["two cores"]
    bars = {
        "without Spark": (
            "nursery_against_one_process",
            "the same code in one process without Spark",
            1.3,
        ),
        "one core": ("nursery_1_to_2_cores", "itself on one core", 1.5),
        "through the JVM": (
            "nursery_against_jvm_rows",
            "the same decoder, rows shuffled, sorted and written by Spark",
            1.8,
        ),
    }
    found = [
        compare(name, ours, rates[contender], reference_name=text, unit="MB/s", bar=bar)
        for contender, (name, text, bar) in bars.items()
        if contender in rates
    ]
    found.append(
        compare(
            "nursery_500_datasets",
            rates["500 datasets"],
            ours,
            reference_name="itself with 8 datasets",
            unit="MB/s",
            bar=0.35,
        )
    )
    return found
