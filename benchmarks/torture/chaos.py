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
# What starts slowly is left alone for so long, or nothing would ever be merged.
CALM_SECS = {"dev": 90.0, "nursery": 45.0, "merge_worker": 45.0}


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
    while not is_over.wait(rng.uniform(*PAUSE_SECS)):
        now = time.monotonic()
        pids = {
            name: pid
            for name, pid in world.pids().items()
            if name not in spared and now >= calm_until.get(name, 0.0)
        }
        if not pids:
            continue
        name = rng.choice(sorted(pids))
        hit = CALM_SECS if name == "dev" else {name: CALM_SECS.get(name, 0.0)}
        calm_until.update({other: now + secs for other, secs in hit.items()})
        is_kill = rng.random() < KILL_SHARE
        counts[f"{name} {'killed' if is_kill else 'stopped'}"] += 1
        with suppress(ProcessLookupError):
            if is_kill:
                os.kill(pids[name], signal.SIGKILL)
            else:
                os.kill(pids[name], signal.SIGSTOP)
                is_over.wait(rng.uniform(*STOPPED_SECS))
                os.kill(pids[name], signal.SIGCONT)
