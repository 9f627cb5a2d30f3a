"""A closed-loop load of prepared requests: N callers, one call each at a time, in a child process.

A caller sends its own requests in order, or over and over. What is measured is what callers get:
answers through gRPC on loopback, with their latencies. CPU is measured by `benchmarks.harness.cpu`.
"""

import asyncio
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import grpc

CONNECTIONS_MAX = 8


@dataclass(frozen=True, slots=True)
class CallLoad:
    """Serialized requests of one method, a list per caller.

    They are sent for `seconds` over and over, or once in order where that is 0.
    """

    target: str
    method: str
    requests: Sequence[Sequence[bytes]]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CallRates:
    """Measured calls, all of them answered; `replies` has each caller's last reply."""

    calls: int
    seconds: float
    p50_ms: float
    p99_ms: float
    replies: Sequence[bytes]

    @property
    def per_second(self) -> float:
        """Calls answered per second."""
        return self.calls / self.seconds


def run(load: CallLoad) -> CallRates:
    """Run the load in a child process; a refused call is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness.call_load"],
        input=pickle.dumps(load),
        stdout=subprocess.PIPE,
        check=True,
    )
    rates = pickle.loads(done.stdout)  # noqa: S301 (our own child)
    assert isinstance(rates, CallRates)
    return rates


async def _measure(load: CallLoad) -> CallRates:
    # One connection a few callers, as a fleet would have.
    channels = [
        grpc.aio.insecure_channel(load.target, options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(min(CONNECTIONS_MAX, len(load.requests)))
    ]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    latencies: list[float] = []
    began = time.perf_counter()
    replies = await asyncio.gather(
        *(
            _caller(channels[number % len(channels)], load, number, latencies)
            for number in range(len(load.requests))
        )
    )
    seconds = time.perf_counter() - began
    for channel in channels:
        await channel.close()
    latencies.sort()
    return CallRates(
        calls=len(latencies),
        seconds=seconds,
        p50_ms=1e3 * latencies[len(latencies) // 2],
        p99_ms=1e3 * latencies[len(latencies) * 99 // 100],
        replies=replies,
    )


async def _caller(
    channel: grpc.aio.Channel, load: CallLoad, number: int, latencies: list[float]
) -> bytes:
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(load.method)
    until = time.perf_counter() + load.seconds if load.seconds else None
    reply = b""
    while True:
        for request in load.requests[number]:
            start = time.perf_counter()
            reply = await call(request)
            end = time.perf_counter()
            latencies.append(end - start)
            if until is not None and end > until:
                return reply
        if until is None:
            return reply


def main() -> None:
    """Read a load from stdin, write what was measured to stdout."""
    # By its importable name: what this file defines while it is `__main__` has another.
    from benchmarks.harness import call_load

    load = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 (our own parent)
    sys.stdout.buffer.write(pickle.dumps(asyncio.run(call_load._measure(load))))


if __name__ == "__main__":
    main()
