"""A closed-loop load of prepared requests: N callers, one call each at a time, in a child process.

What is measured is what callers get: answers through gRPC on loopback, with their latencies. The
child is `benchmarks/loadgen`, which `make loadgen` builds, and without it `call_sender` in Python,
which takes several times as much CPU from the server beside it.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LOADGEN = Path(__file__).parents[2] / "build/loadgen"
CONNECTIONS_MAX = 8
RUN_SECS_MAX = 600.0


@dataclass(frozen=True, slots=True)
class CallSecurity:
    """TLS of the callers, which trusts `ca_file`, and their bearer token; "" = without."""

    ca_file: str = ""
    auth_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class CallLoad:
    """Serialized requests of one method, a list per caller.

    They are sent for `seconds` over and over, or once in order where that is 0. `until_empty`
    sends a caller's only request again and again, until a reply is empty. Loads with `security`,
    also one that is empty, are sent from Python.
    """

    target: str
    method: str
    requests: Sequence[Sequence[bytes]]
    seconds: float = 0.0
    until_empty: bool = False
    security: CallSecurity | None = None


@dataclass(frozen=True, slots=True)
class CallRates:
    """Measured calls, all of them answered.

    `replies` has each caller's last reply, or all that were not empty with `until_empty`.
    """

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
    has_generator = LOADGEN.exists() and load.security is None
    return run_loadgen(load) if has_generator else run_sender(load)


def run_loadgen(load: CallLoad) -> CallRates:
    """Run the load with the generator in Go."""
    header = {
        "target": load.target,
        "method": load.method,
        "counts": list(map(len, load.requests)),
        "seconds": load.seconds,
        "until_empty": load.until_empty,
    }
    requests = (request for own in load.requests for request in own)
    sent = b"".join(_blocks([json.dumps(header).encode(), *requests]))
    head, _, body = _output([str(LOADGEN)], sent).partition(b"\n")
    rates = json.loads(head)
    replies, at = list[bytes](), 0
    for size in rates.pop("sizes"):
        replies.append(body[at : at + size])
        at += size
    return CallRates(**rates, replies=replies)


def run_sender(load: CallLoad) -> CallRates:
    """Run the load with a process of Python."""
    command = [sys.executable, "-m", "benchmarks.harness.call_sender"]
    rates = pickle.loads(_output(command, pickle.dumps(load)))  # noqa: S301 (our own child)
    assert isinstance(rates, CallRates)
    return rates


def _output(command: Sequence[str], sent: bytes) -> bytes:
    done = subprocess.run(
        command, input=sent, stdout=subprocess.PIPE, check=True, timeout=RUN_SECS_MAX
    )
    return done.stdout


def _blocks(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield len(block).to_bytes(4, "big")
        yield block
