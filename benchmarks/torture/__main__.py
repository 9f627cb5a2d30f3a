"""`make torture`: the whole stack under random kills, stops, damage and rollbacks of its database.

Senders repeat each export until it is acknowledged, readers look at versions for doubles and for
records that vanish, and every damage is repaired on the way. At the end the check is clean and the
records are counted: none is lost beyond the ledger, none is there twice. TORTURE_MINUTES says how
long (10), TORTURE_SEED repeats a choice of victims, TORTURE_KEEP=1 leaves the folder.
"""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from benchmarks.soak.stack import make_datasets
from benchmarks.torture.chaos import torment
from benchmarks.torture.damage import Damages
from benchmarks.torture.records import Ledger, read_again_and_again, read_ids, send
from benchmarks.torture.world import TortureFailed, World, torture_world
from dataplane.stream_poll import read_streams
from meta.errors import MetaError

DATASETS = ("shop", "bank", "mail")
START_SECS_MAX = 600.0
DRAIN_SECS_MAX = 900.0
DAMAGE_PAUSE_SECS = 5.0


@dataclass(slots=True)
class Torture:
    """One run."""

    world: World
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    counts: Counter[str] = field(default_factory=Counter)
    spared: set[str] = field(default_factory=set)

    def run(self, minutes: float) -> None:
        """Start, torment, drain, prove; raises TortureFailed if it cannot come to an end."""
        tokens = self._start()
        is_sent, is_quiet = threading.Event(), threading.Event()
        senders = [
            _started(partial(send, self.world, name, token, self.ledger, is_sent))
            for name, token in tokens.items()
        ]
        rng = random.Random(self.seed)
        others: list[threading.Thread] = []
        try:
            self._wait_for_records()
            others += [
                _started(partial(read_again_and_again, self.world, self.ledger, is_quiet)),
                _started(partial(torment, self.world, rng, self.counts, self.spared, is_quiet)),
            ]
            self._damage(time.monotonic() + 60 * minutes)
        finally:
            is_quiet.set()
            for thread in others:
                thread.join()
            is_sent.set()
            for thread in senders:
                thread.join()
        self._drain()
        self._prove()

    def _start(self) -> dict[str, str]:
        deadline = time.monotonic() + START_SECS_MAX
        while time.monotonic() < deadline:
            try:
                with self.world.client() as client:
                    return make_datasets(client, DATASETS)
            except MetaError:
                time.sleep(1.0)
        raise TortureFailed("meta does not answer")

    def _wait_for_records(self) -> None:
        deadline = time.monotonic() + START_SECS_MAX
        while time.monotonic() < deadline:
            with suppress(MetaError), self.world.client() as client:
                if read_ids(self.world, client):
                    return
            time.sleep(1.0)
        raise TortureFailed("no record became visible")

    def _damage(self, until: float) -> None:
        damages = Damages(self.world, self.ledger, random.Random(self.seed + 1), self.spared)
        kinds = (
            damages.hide_a_segment,
            damages.heal_a_payload,
            damages.skip_a_baby,
            damages.roll_back,
        )
        number = 0
        while time.monotonic() < until and not self.ledger.findings:
            time.sleep(DAMAGE_PAUSE_SECS)
            try:
                kinds[number % len(kinds)]()
            except MetaError:
                continue  # meta was killed while the victim was chosen.
            number += 1
            with self.ledger.lock:
                print(f"  {len(self.ledger.acknowledged):,} acknowledged, {damages.done[-1:]}")
        for text, count in sorted(Counter(d.partition(",")[0] for d in damages.done).items()):
            print(f"{text}: {count} times")

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_SECS_MAX
        while time.monotonic() < deadline:
            try:
                with self.world.client() as client:
                    if all(
                        entry.merged_offset == stream.committed_offset
                        for stream in read_streams(client)
                        for entry in stream.datasets
                    ):
                        return
            except MetaError:
                pass  # It is starting.
            time.sleep(1.0)
        raise TortureFailed(f"not merged in {DRAIN_SECS_MAX:.0f} s")

    def _prove(self) -> None:
        with self.world.client() as client:
            found = read_ids(self.world, client)
        doubled = [one for one, count in found.items() if count > 1]
        missing = self.ledger.acknowledged - found.keys() - self.ledger.lost
        unknown = found.keys() - self.ledger.acknowledged
        print(
            f"{len(self.ledger.acknowledged):,} acknowledged, {len(found):,} found,"
            f" {len(self.ledger.lost)} in the loss ledger, {len(missing)} lost beyond it,"
            f" {len(doubled)} doubled, {len(unknown)} unknown"
        )
        for name, ids in (("lost", missing), ("doubled", doubled), ("unknown", unknown)):
            if ids:
                self.ledger.findings.append(f"{len(ids)} {name}, such as {min(ids)}")
        checked = self.world.segplane("fsck", "--deep")
        print(checked.stdout.splitlines()[-1] if checked.stdout else checked.stderr)
        if checked.returncode:
            self.ledger.findings.append(f"fsck: {checked.stdout}{checked.stderr}")


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def main() -> int:
    """Run, and say what was found."""
    seed = int(os.environ.get("TORTURE_SEED") or random.SystemRandom().randrange(10**6))
    minutes = float(os.environ.get("TORTURE_MINUTES") or 10)
    master = ("local[2]", "processes[2]")[seed % 2]
    print(f"{minutes:g} minutes, TORTURE_SEED={seed}, tasks on {master}", flush=True)
    # As Ctrl-C, so that nothing is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with torture_world(master) as world:
        torture = Torture(world, seed)
        try:
            torture.run(minutes)
        except TortureFailed as error:
            torture.ledger.findings.append(str(error))
    for name, count in sorted(torture.counts.items()):
        print(f"{name}: {count} times")
    for finding in torture.ledger.findings:
        print(f"FOUND: {finding}")
    print("torture failed" if torture.ledger.findings else "torture passed")
    return 1 if torture.ledger.findings else 0


if __name__ == "__main__":
    sys.exit(main())
