"""Decoding trials in their own process: a crash of native code is seen, and its seed known.

    python -m tests.support.otlp.trials messages|mutations logs|metrics|traces <seed> <count>

Prints each seed before its trial, and in the end one line of JSON with what was counted.
"""

import faulthandler
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from segments.otlp.decode import Decoded, FailedSlice, decode
from segments.otlp.official import OFFICIAL_CLASSES
from segments.otlp.split import cut
from segments.otlp.wire import UndecodableSlice
from segments.signals import Signal
from tests.support.otlp import hostile
from tests.support.otlp.checks import assert_same, decoded_rows
from tests.support.otlp.messages import mutate
from tests.support.otlp.oracle import rows

ROOT = Path(__file__).parents[3]
MUTATIONS = 10


def run(kind: str, signal: Signal, seed: int, count: int) -> Counter[str]:
    """Run trials in a child process; fails with the seed if it dies or a trial goes wrong."""
    command = [sys.executable, "-m", "tests.support.otlp.trials"]
    command += [kind, signal, str(seed), str(count)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = child.stdout.split()
    last = lines[-1] if lines else "none"
    assert child.returncode == 0, f"{command[1:]} at seed {last}: {child.stderr[-3_000:]}"
    return Counter(json.loads(child.stdout.splitlines()[-1]))


def try_message(signal: Signal, seed: int, counted: Counter[str]) -> None:
    """One message of any kind: read as the official classes read it, or refused as by them."""
    body = hostile.payload(signal, random.Random(seed))
    _check_alone(signal, body, 1, counted)


def try_mutations(signal: Signal, seed: int, counted: Counter[str]) -> None:
    """Some mutations of one message, each alone and all together."""
    rnd = random.Random(seed)
    body = rnd.choice((hostile.plain, hostile.strange))(signal, rnd)
    bodies = [mutate(body, rnd) for _ in range(MUTATIONS)]
    for body in bodies:
        _check_alone(signal, body, 1, counted)
    expected: list[dict[str, Any]] = []
    refused = set[int]()
    for index, body in enumerate(bodies):
        found = _official(signal, body, index + 1)
        expected.extend(found or ())
        refused.update([index] if found is None else ())
    together = decode(signal, bodies, range(1, MUTATIONS + 1))
    if not together.failed and refused:
        # All of what the official classes refuse was read without the part that is wrong.
        counted["read all the same"] += len(refused)
        return
    assert {one.index for one in together.failed} == refused
    got = decoded_rows(together)
    if signal == "metrics":
        for side in (got, expected):
            side.sort(key=lambda row: repr(row["metric_type"]))
    assert_same(got, expected)


def _check_alone(signal: Signal, body: bytes, received_at: int, counted: Counter[str]) -> None:
    expected = _official(signal, body, received_at)
    decoded = _decode_as_a_nursery_does(signal, body, received_at)
    if expected is None:
        counted["refused" if decoded.failed else "read all the same"] += 1
        return
    assert not decoded.failed, decoded.failed
    assert_same(decoded_rows(decoded), expected)
    counted["read"] += 1
    counted["records"] += len(expected)


def _decode_as_a_nursery_does(signal: Signal, body: bytes, received_at: int) -> Decoded:
    try:
        bodies = list(cut(signal, body, is_validated=False))
    except UndecodableSlice as error:
        return Decoded(failed=(FailedSlice(0, str(error)),))
    return decode(signal, bodies, [received_at] * len(bodies), are_checked=True)


def _official(signal: Signal, body: bytes, received_at: int) -> list[dict[str, Any]] | None:
    """Rows by the official classes, None where they refuse."""
    try:
        return rows(signal, OFFICIAL_CLASSES[signal].FromString(body), received_at)
    except DecodeError:
        return None


TRIALS: dict[str, Callable[[Signal, int, Counter[str]], None]] = {
    "messages": try_message,
    "mutations": try_mutations,
}


def main(kind: str, signal: Any, seed: str, count: str) -> None:
    """Run `count` trials with seeds from `seed` on."""
    faulthandler.enable()
    counted: Counter[str] = Counter()
    for number in range(int(seed), int(seed) + int(count)):
        print(number, flush=True)
        TRIALS[kind](signal, number, counted)
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
