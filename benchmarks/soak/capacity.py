"""Capacity of a stack for OTLP: a burst, timed until it is merged and compacted."""

import time

from benchmarks.soak.load import SoakLoad
from benchmarks.soak.run import SoakFailed, drain, send
from benchmarks.soak.stack import SoakStack
from meta.client import MetaClient

# Starts every JVM's and worker's code, so that the burst finds them warm.
WARM_UP_MB, WARM_UP_SECS = 5.0, 2.0
BURST_MB_PER_SEC, BURST_SECS = 40.0, 5.0


def measure_capacity(soak: SoakStack, client: MetaClient, token: str) -> float:
    """MB/s from the first export until every record is visible and no merge task is open."""
    _burst(soak, client, token, WARM_UP_MB, WARM_UP_SECS)
    return _burst(soak, client, token, BURST_MB_PER_SEC, BURST_SECS)


def _burst(
    soak: SoakStack, client: MetaClient, token: str, mb_per_sec: float, seconds: float
) -> float:
    target = soak.stack.settings.otlp_grpc_address
    began = time.monotonic()
    progress = send(soak, SoakLoad(target, {"burst": token}, mb_per_sec, seconds))
    if progress.refused:
        raise SoakFailed(f"exports of the burst were refused: {progress.refused[:3]}")
    drain(soak, client)
    return progress.acknowledged_bytes / 1e6 / (time.monotonic() - began)
