"""CPU of the command line until it prints its help, beside an import of gRPC.

User and system time of processes, in interleaved pairs.
"""

import os
import subprocess
import sys
from statistics import median

from benchmarks.harness.results import Result, compare

PAIRS = 10
# Measured: 0.5 and 1.0.
BAR = 1.25
_REFERENCE = ("-c", "import grpc")
_OURS = {"--help": ("-m", "segplane", "--help"), "--version": ("-m", "segplane", "--version")}


def run() -> list[Result]:
    """Measure each command in turn with the reference."""
    return [_measured(name, arguments) for name, arguments in _OURS.items()]


def _measured(name: str, arguments: tuple[str, ...]) -> Result:
    pairs = [(_cpu_secs(arguments), _cpu_secs(_REFERENCE)) for _ in range(PAIRS)]
    return compare(
        f"segplane {name}",
        1_000 * median(ours for ours, _ in pairs),
        1_000 * median(reference for _, reference in pairs),
        reference_name="python -c 'import grpc'",
        unit="ms CPU",
        bar=BAR,
        higher_is_better=False,
    )


def _cpu_secs(arguments: tuple[str, ...]) -> float:
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system
