"""Bound columns: the CPU of a nursery's tasks with ten of them, and with none.

The same baby segments of logs, spans and data points become segments of one dataset, by the code
that a nursery's task runs, in a process with the allocator's settings of a task's. CPU time is user
and system time of all its threads. Pairs of rounds take turns, and their ratios are compared, since
single rounds of the same code differ by a third.
"""

import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.harness.babies import BabySet, BabySpec, write_babies
from benchmarks.harness.results import Result, compare
from benchmarks.peers.nursery_contenders import merge_alone
from dataplane.processes.task_process import ALLOCATOR
from segments.location import StoreLocation
from segments.parquet.spec import PromotedColumn, SegmentSpec

PAIRS = 24
BAR = 0.85
# Of 24 sorted ratios these enclose the median with a probability of 97.7 %.
RANKS = (7, 18)
BABIES = BabySpec(babies=8, datasets=1, streams=1, datasets_per_baby=1, size_bytes=40_000_000)
_FIRST_FIELD_ID = 5_000
# Names of columns, their types, and the attributes of records that they read.
_COLUMNS = (
    ("http_method", "string", "http.method"),
    ("http_route", "string", "http.route"),
    ("user_id", "string", "user.id"),
    ("thread_id", "long", "thread.id"),
    ("request_id", "string", "request.id"),
    ("client_address", "string", "client.address"),
    ("function_name", "string", "code.function.name"),
    ("http_status_code", "int", "http.status_code"),
    ("peer_port", "int", "net.peer.port"),
    ("url_path", "string", "url.path"),
)
BOUND = SegmentSpec(
    promoted=tuple(
        PromotedColumn(name, kql_type, "record", attribute, _FIRST_FIELD_ID + place, is_bound=True)
        for place, (name, kql_type, attribute) in enumerate(_COLUMNS)
    )
)


def run() -> list[Result]:
    """Compare pairs of rounds by the median of their ratios."""
    os.environ.update(ALLOCATOR)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        records, costs = pool.submit(_measured).result()
    pairs = zip(costs["without"], costs["bound"], strict=True)
    ratios = sorted(without / bound for without, bound in pairs)
    low, high = ratios[RANKS[0] - 1], ratios[RANKS[1] - 1]
    print(f"  ratios of pairs {ratios[0]:.3g} to {ratios[-1]:.3g}, 98 %: {low:.3g} to {high:.3g}")
    reference = records / statistics.median(costs["without"])
    return [
        compare(
            "nursery_bound_columns",
            # Rounds of a pair share what else the machine does; those of other pairs do not.
            reference * statistics.median(ratios),
            reference,
            reference_name="a dataset without a schema",
            unit="records a CPU second with ten columns",
            bar=BAR,
        )
    ]


def _measured() -> tuple[int, dict[str, list[float]]]:
    """CPU seconds of the rounds, and the records of each."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as folder:
        location = StoreLocation.from_url(Path(folder).as_uri())
        babies = write_babies(location, BABIES)
        specs = {"without": SegmentSpec(), "bound": BOUND}
        costs: dict[str, list[float]] = {name: [] for name in specs}
        for spec in specs.values():
            _cpu_secs(babies, location, spec)
        for pair in range(PAIRS):
            for name in list(specs) if pair % 2 else reversed(specs):
                costs[name].append(_cpu_secs(babies, location, specs[name]))
    return babies.records, costs


def _cpu_secs(babies: BabySet, location: StoreLocation, spec: SegmentSpec) -> float:
    (dataset_id,) = babies.streams[0].merged
    began = time.process_time()
    merge_alone(babies, location, {dataset_id: spec})
    return time.process_time() - began
