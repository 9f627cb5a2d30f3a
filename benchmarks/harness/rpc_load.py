"""A closed-loop load of prepared requests from a process of its own: N callers, one call each."""

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
class RpcLoad:
    """Serialized requests of one method, a list per caller, each sent in order.

    `until_empty` sends a caller's only request again and again, until a reply is empty.
    """

    target: str
    method: str
    requests: Sequence[Sequence[bytes]]
    until_empty: bool = False


@dataclass(frozen=True, slots=True)
class RpcReplies:
    """Every reply, in order per caller, and the seconds from the first call to the last reply."""

    replies: Sequence[Sequence[bytes]]
    seconds: float

    def per_second(self) -> float:
        """Calls answered per second."""
        return sum(map(len, self.replies)) / self.seconds


def run(load: RpcLoad) -> RpcReplies:
    """Run the load in a child process; a refused call is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness.rpc_load"],
        input=pickle.dumps(load),
        stdout=subprocess.PIPE,
        check=True,
    )
    found = pickle.loads(done.stdout)  # noqa: S301 (our own child)
    assert isinstance(found, RpcReplies)
    return found


async def _send(load: RpcLoad) -> RpcReplies:
    channels = [
        grpc.aio.insecure_channel(load.target, options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(min(CONNECTIONS_MAX, len(load.requests)))
    ]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    began = time.perf_counter()
    replies = await asyncio.gather(
        *(
            _caller(load, requests, channels[number % len(channels)])
            for number, requests in enumerate(load.requests)
        )
    )
    seconds = time.perf_counter() - began
    for channel in channels:
        await channel.close()
    return RpcReplies(replies, seconds)


async def _caller(
    load: RpcLoad, requests: Sequence[bytes], channel: grpc.aio.Channel
) -> list[bytes]:
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(load.method)
    if not load.until_empty:
        return [await call(request) for request in requests]
    replies: list[bytes] = []
    while reply := await call(requests[0]):
        replies.append(reply)
    return replies


def main() -> None:
    """Read a load from stdin, write what came back to stdout."""
    # By its importable name: what this file defines while it is `__main__` has another.
    from benchmarks.harness import rpc_load

    load = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 (our own parent)
    sys.stdout.buffer.write(pickle.dumps(asyncio.run(rpc_load._send(load))))


if __name__ == "__main__":
    main()
