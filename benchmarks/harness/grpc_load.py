"""A closed-loop gRPC load generator in a process of its own: N callers, one call each at a time."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass

import grpc
from grpc_health.v1 import health_pb2

from meta.v1 import ingestion_pb2

ECHO = "/grpc.health.v1.Health/Check"
COMMIT = "/meta.v1.IngestionService/CommitOffset"
WARM_UP_SECS = 1.0


@dataclass(frozen=True, slots=True)
class GrpcLoad:
    """Load on an RPC. `streams` has one id per caller for CommitOffset, none for the echo."""

    target: str
    callers: int
    seconds: float
    streams: Sequence[str] = ()
    first_offset: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Measured rate; `calls` counts the whole run, so that offsets can continue after it."""

    per_second: float
    p50_ms: float
    p99_ms: float
    calls_per_caller_max: int


def run(load: GrpcLoad) -> Rate:
    """Run the load in a child process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness.grpc_load"],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        check=True,
    )
    return Rate(**json.loads(done.stdout))


async def _measure(load: GrpcLoad) -> Rate:
    # One connection a few callers, as a fleet of collectors would have.
    channels = [
        grpc.aio.insecure_channel(load.target, options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(min(8, load.callers))
    ]
    began = time.perf_counter()
    latencies: list[float] = []
    counts = await asyncio.gather(
        *(
            _caller(_call(load, number, channels[number % len(channels)]), began, load, latencies)
            for number in range(load.callers)
        )
    )
    for channel in channels:
        await channel.close()
    latencies.sort()
    return Rate(
        per_second=len(latencies) / load.seconds,
        p50_ms=1e3 * latencies[len(latencies) // 2],
        p99_ms=1e3 * latencies[len(latencies) * 99 // 100],
        calls_per_caller_max=max(counts),
    )


def _call(
    load: GrpcLoad, number: int, channel: grpc.aio.Channel
) -> Callable[[int], Awaitable[bytes]]:
    method = COMMIT if load.streams else ECHO
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
    if not load.streams:
        empty = health_pb2.HealthCheckRequest().SerializeToString()
        return lambda _: call(empty)
    # Everything but the offset is serialized once: fields may come in any order, and what the
    # generator spends is missing on both sides.
    constant = ingestion_pb2.CommitOffsetRequest(
        stream_id=load.streams[number],
        start_time=1,
        end_time=2,
        size_bytes=1_000_000,
        num_records=1_000,
    ).SerializeToString()

    def commit(count: int) -> Awaitable[bytes]:
        offset = ingestion_pb2.CommitOffsetRequest(committed_offset=load.first_offset + count)
        return call(constant + offset.SerializeToString())

    return commit


async def _caller(
    call: Callable[[int], Awaitable[bytes]], began: float, load: GrpcLoad, latencies: list[float]
) -> int:
    counted_from, until = began + WARM_UP_SECS, began + WARM_UP_SECS + load.seconds
    count = 0
    while (start := time.perf_counter()) < until:
        await call(count)
        count += 1
        if start >= counted_from:
            latencies.append(time.perf_counter() - start)
    return count


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(asyncio.run(_measure(GrpcLoad(**json.load(sys.stdin)))))))
