"""CPU of an idle installation, beside one of the commit before processes reported themselves.

Five installations of each run at the same time, since nobody sends anything and CPU is counted by
processes: all of them, Postgres too. The difference includes all else that came since that commit.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.harness.former import ROOT, former_tree
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.waiting import wait_until

COMMIT_BEFORE = "26aeb918635dce515b68f449d35aad31673885de"
PAIRS, SECONDS = 5, 600.0
# First polls, analyses of new tables, and jobs that begin.
SETTLING_SECS = 120.0
START_SECS_MAX = 300.0
CORE_BAR = 0.002
_PORTS = ("--meta-port", "--otlp-grpc-port", "--otlp-http-port", "--gateway-port")


def run() -> list[Result]:
    """Ten minutes of all installations at once; the median of the pairs' differences."""
    tree = former_tree(COMMIT_BEFORE)
    if tree is None:
        print(f"  the history here has no commit {COMMIT_BEFORE}", flush=True)
        return []
    with ExitStack() as stack:
        roots = [
            [stack.enter_context(_installation(each)) for each in (ROOT, tree)]
            for _ in range(PAIRS)
        ]
        time.sleep(SETTLING_SECS)
        before, began = _spent(roots), time.monotonic()
        time.sleep(SECONDS)
        secs = time.monotonic() - began
        cores = [
            tuple((after - first) / secs for first, after in zip(*pair, strict=True))
            for pair in zip(before, _spent(roots), strict=True)
        ]
    for ours, theirs in cores:
        print(f"  {ours:.5f} of a core, before {theirs:.5f}", flush=True)
    return [_result(cores)]


def _result(cores: Sequence[tuple[float, ...]]) -> Result:
    added = [ours - theirs for ours, theirs in cores]
    ours, theirs = (statistics.median(each) for each in zip(*cores, strict=True))
    return compare(
        "status_idle_core",
        statistics.median(added),
        CORE_BAR,
        reference_name="the most that an idle installation may cost more",
        unit=f"of a core more than before, {min(added):.4g} to {max(added):.4g} in {PAIRS} pairs of"
        f" {SECONDS:.0f} s, medians {ours:.4g} and {theirs:.4g}",
        bar=1.0,
        higher_is_better=False,
    )


def _spent(roots: Sequence[Sequence[int]]) -> list[list[float]]:
    return [[cpu_seconds(root) for root in pair] for pair in roots]


@contextmanager
def _installation(tree: Path) -> Iterator[int]:
    """Run `segplane dev` of a tree, without a JVM; gives its process once all is ready."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        output = folder / "output"
        command = [
            sys.executable,
            "-P",
            "-m",
            "segplane",
            "dev",
            "--data-dir",
            str(folder / "data"),
        ]
        command += [argument for port in _PORTS for argument in (port, "0")]
        environment = {
            **os.environ,
            "PYTHONPATH": str(tree),
            "SEGPLANE_SPARK_MASTER": "processes[1]",
        }
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, env=environment, cwd=folder, stdout=file, stderr=subprocess.STDOUT
            )
        try:
            wait_until(
                lambda: "Ctrl-C stops everything" in output.read_text(),
                "an installation",
                seconds=START_SECS_MAX,
            )
            yield process.pid
        finally:
            process.terminate()
            process.wait()
