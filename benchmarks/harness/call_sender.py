"""The load of `call_load` in Python, where the generator in Go is not built."""

import asyncio
import itertools
import pickle
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from benchmarks.harness.call_load import CONNECTIONS_MAX, CallLoad, CallRates, CallSecurity


@dataclass(slots=True)
class _Measured:
    latencies: list[float] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)


async def send(load: CallLoad) -> CallRates:
    """Send the load from this process."""
    # One connection a few callers, as a fleet would have.
    channels = [
        _channel(load.target, load.security)
        for _ in range(min(CONNECTIONS_MAX, len(load.requests)))
    ]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    measured = _Measured()
    began = time.perf_counter()
    await asyncio.gather(
        *(
            _caller(channels[number % len(channels)], load, number, measured)
            for number in range(len(load.requests))
        )
    )
    seconds = time.perf_counter() - began
    for channel in channels:
        await channel.close()
    latencies = sorted(measured.latencies)
    return CallRates(
        calls=len(latencies),
        seconds=seconds,
        p50_ms=1e3 * latencies[len(latencies) // 2],
        p99_ms=1e3 * latencies[len(latencies) * 99 // 100],
        replies=measured.replies,
    )


def _channel(target: str, security: CallSecurity) -> grpc.aio.Channel:
    options = [("grpc.use_local_subchannel_pool", 1)]
    if not security.ca_file:
        return grpc.aio.insecure_channel(target, options=options)
    credentials = grpc.ssl_channel_credentials(Path(security.ca_file).read_bytes())
    return grpc.aio.secure_channel(target, credentials, options=options)


async def _caller(
    channel: grpc.aio.Channel, load: CallLoad, number: int, measured: _Measured
) -> None:
    metadata: tuple[tuple[str, str], ...] = ()
    tokens = load.security.auth_tokens
    if token := tokens[number % len(tokens)]:
        metadata = (("authorization", f"Bearer {token}"),)
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(load.method)
    until = time.perf_counter() + load.seconds
    replies: list[bytes] = []
    for request in _requests(load, number):
        start = time.perf_counter()
        try:
            reply = await call(request, metadata=metadata)
        except grpc.RpcError:
            if not load.may_be_refused:
                raise
            reply = b""
        end = time.perf_counter()
        measured.latencies.append(end - start)
        if load.until_empty:
            if not reply:
                break
            replies.append(reply)
        else:
            replies = [reply]
        if load.seconds and end > until:
            break
    measured.replies += replies


def _requests(load: CallLoad, number: int) -> Iterable[bytes]:
    """The requests of a caller in order; without an end unless they are sent once."""
    own = load.requests[number]
    return itertools.cycle(own) if load.seconds or load.until_empty else own


if __name__ == "__main__":
    rates = asyncio.run(send(pickle.loads(sys.stdin.buffer.read())))  # noqa: S301 (our own parent)
    sys.stdout.buffer.write(pickle.dumps(rates))
