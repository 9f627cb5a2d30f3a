"""Export sent -> visible through FindSegments, p99, under half the load that the machine takes.

Against the flush timeout and one nursery cycle: its wait for babies to gather, the pause between
its polls, and its measured work (job and registration) on average. `make soak` measures the same
over its whole time.
"""

from benchmarks.harness.results import Result, compare
from benchmarks.soak.capacity import measure_capacity
from benchmarks.soak.load import SoakLoad
from benchmarks.soak.markers import DATASET, Markers
from benchmarks.soak.run import Freshened, SoakFailed, describe, run_load
from benchmarks.soak.stack import make_datasets, soak_stack

SECONDS = 90.0
LOADED = ("one", "two", "three")
BURST = "burst"
BAR = 2.0


def run() -> list[Result]:
    """One run; the load's sender has its own process."""
    with soak_stack() as soak, soak.stack.connect() as client:
        tokens = make_datasets(client, (*LOADED, DATASET, BURST))
        address = soak.stack.settings.otlp_grpc_address
        rate = measure_capacity(soak, client, tokens[BURST]) / 2
        print(f"  load: {rate:.1f} MB/s", flush=True)
        load = SoakLoad(address, {name: tokens[name] for name in LOADED}, rate, SECONDS)
        with Markers(client, address, tokens[DATASET]) as markers:
            progress, freshened = run_load(soak, load, markers, lambda _: None)
        if progress.refused or markers.failed:
            raise SoakFailed(f"exports were refused: {(*progress.refused, *markers.failed)[:3]}")
        print(f"  {describe(freshened)}", flush=True)
        return [freshness_result("freshness_p99", freshened, SECONDS / 60)]


def freshness_result(name: str, freshened: Freshened, minutes: float) -> Result:
    """Judge the freshness measured in so many minutes."""
    return compare(
        name,
        freshened.freshness.p99_secs,
        freshened.reference_secs,
        reference_name="flush timeout + nursery's wait, poll, job and registration",
        unit=f"s from sent to visible, p99 of {minutes:g} min",
        bar=BAR,
        higher_is_better=False,
    )
