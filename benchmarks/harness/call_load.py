"""A closed-loop load of prepared requests: N callers, one call each at a time, in a child process.

Measures answers through gRPC on loopback, as callers get them, with their latencies. The child is
`benchmarks/loadgen`, which `make loadgen` builds, and without it `call_sender` in Python, which
takes several times as much CPU from the server beside it.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LOADGEN = Path(__file__).parents[2] / "build/loadgen"
SENDER = [sys.executable, "-m", "benchmarks.harness.call_sender"]
CONNECTIONS_MAX = 8
RUN_SECS_MAX = 600.0


@dataclass(frozen=True, slots=True)
class CallSecurity:
    """TLS of the callers, which trusts `ca_file`, and their bearer tokens in turn; "" = without."""

    ca_file: str = ""
    auth_tokens: Sequence[str] = field(default=("",), repr=False)


@dataclass(frozen=True, slots=True)
class CallLoad:
    """Serialized requests of one method, a list per caller.

    They are sent for `seconds` over and over, or once in order where that is 0. `until_empty`
    sends a caller's only request again and again, until a reply is empty. Refused calls of a load
    that `may_be_refused` count as calls; their replies are empty.
    """

    target: str
    method: str
    requests: Sequence[Sequence[bytes]]
    seconds: float = 0.0
    until_empty: bool = False
    security: CallSecurity = field(default_factory=CallSecurity)
    may_be_refused: bool = False


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
    """Run the load in a child process; a refused call is an error unless it may be."""
    return run_loadgen(load) if LOADGEN.exists() else run_sender(load)


@contextmanager
def sending(load: CallLoad, niceness: int) -> Iterator[None]:
    """Send the load in a child process until the block ends; its figures are dropped."""
    command, sent = (
        ([str(LOADGEN)], _loadgen_input(load)) if LOADGEN.exists() else (SENDER, pickle.dumps(load))
    )
    with subprocess.Popen(
        ["nice", f"-{niceness}", *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(sent)
            process.stdin.close()
            yield
        finally:
            process.kill()


def run_loadgen(load: CallLoad) -> CallRates:
    """Run the load with the generator in Go."""
    head, _, body = _output([str(LOADGEN)], _loadgen_input(load)).partition(b"\n")
    rates = json.loads(head)
    replies, at = list[bytes](), 0
    for size in rates.pop("sizes"):
        replies.append(body[at : at + size])
        at += size
    return CallRates(**rates, replies=replies)


def run_sender(load: CallLoad) -> CallRates:
    """Run the load with a process of Python."""
    rates = pickle.loads(_output(SENDER, pickle.dumps(load)))  # noqa: S301 (our own child)
    assert isinstance(rates, CallRates)
    return rates


def _loadgen_input(load: CallLoad) -> bytes:
    header = {
        "target": load.target,
        "method": load.method,
        "counts": list(map(len, load.requests)),
        "seconds": load.seconds,
        "until_empty": load.until_empty,
        "ca_file": load.security.ca_file,
        "auth_tokens": load.security.auth_tokens,
        "may_be_refused": load.may_be_refused,
    }
    requests = (request for own in load.requests for request in own)
    return b"".join(_blocks([json.dumps(header).encode(), *requests]))


def _output(command: Sequence[str], sent: bytes) -> bytes:
    done = subprocess.run(
        command, input=sent, stdout=subprocess.PIPE, check=True, timeout=RUN_SECS_MAX
    )
    return done.stdout


def _blocks(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield len(block).to_bytes(4, "big")
        yield block
