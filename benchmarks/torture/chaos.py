"""Kills and stops processes at random."""

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress

from benchmarks.torture.world import World

PAUSE_SECS = (4.0, 12.0)
STOPPED_SECS = (0.5, 8.0)
KILL_SHARE = 0.6
# A process that starts slowly is left alone until it runs and for so long after, or nothing would
# ever be merged.
CALM_SECS = {"dev": 90.0, "nursery": 30.0, "merge_worker": 30.0}
SLOW = ("nursery", "merge_worker")


def torment(
    world: World,
    rng: random.Random,
    counts: "Counter[str]",
    spared: set[str],
    is_over: threading.Event,
) -> None:
    """Kill -9 or stop one process after the other; `counts` is by name and signal.

    A process in `spared` is held by somebody else at the moment.
    """
    calm_until: dict[str, float] = {}
    starts = dict.fromkeys(SLOW, 1)
    while not is_over.wait(rng.uniform(*PAUSE_SECS)):
        now = time.monotonic()
        for name in SLOW:
            if world.num_starts(name) < starts[name]:
                calm_until[name] = calm_until["dev"] = now + CALM_SECS[name]
        pids = {
            name: pid
            for name, pid in world.pids().items()
            if name not in spared and now >= calm_until.get(name, 0.0)
        }
        if not pids:
            continue
        name = rng.choice(sorted(pids))
        calm_until[name] = now + CALM_SECS.get(name, 0.0)
        is_kill = rng.random() < KILL_SHARE
        for other in SLOW if is_kill else ():
            if name in (other, "dev"):
                starts[other] = world.num_starts(other) + 1
        counts[f"{name} {'killed' if is_kill else 'stopped'}"] += 1
        with suppress(ProcessLookupError):
            if is_kill:
                os.kill(pids[name], signal.SIGKILL)
            else:
                os.kill(pids[name], signal.SIGSTOP)
                is_over.wait(rng.uniform(*STOPPED_SECS))
                os.kill(pids[name], signal.SIGCONT)
