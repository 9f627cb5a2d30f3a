"""Kills and stops processes at random."""

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress

from benchmarks.torture.world import SPARK_PROCESSES, World

PAUSE_SECS = (4.0, 12.0)
STOPPED_SECS = (0.5, 8.0)
KILL_SHARE = 0.6
# A process that starts slowly is left alone until it runs and for so long after, or nothing would
# ever be merged.
CALM_SECS = {"dev": 90.0, "nursery": 30.0, "merge_worker": 30.0}


def torment(
    world: World,
    rng: random.Random,
    counts: "Counter[str]",
    spared: set[str],
    is_over: threading.Event,
) -> None:
    """Kill -9 or stop one process after the other; `counts` is by name and signal.

    A process in `spared` is held by somebody else at the moment, and Spark's parts with it.
    """
    calm_until: dict[str, float] = {}
    starts = dict.fromkeys(SPARK_PROCESSES, 1)
    while not is_over.wait(rng.uniform(*PAUSE_SECS)):
        now = time.monotonic()
        for name in SPARK_PROCESSES:
            if world.num_starts(name) < starts[name]:
                calm_until[name] = calm_until["dev"] = now + CALM_SECS[name]
        pids = {
            name: pid
            for name, pid in world.pids().items()
            if (process := name.partition(" ")[0]) not in spared
            and now >= calm_until.get(process, 0.0)
        }
        if not pids:
            continue
        name = rng.choice(sorted(pids))
        process = name.partition(" ")[0]
        if process == name or name.endswith(" jvm"):
            calm_until[process] = now + CALM_SECS.get(process, 0.0)
        is_kill = rng.random() < KILL_SHARE
        for other in SPARK_PROCESSES if is_kill else ():
            # A process ends with its JVM.
            if name in (other, f"{other} jvm", "dev"):
                starts[other] = world.num_starts(other) + 1
        counts[f"{name} {'killed' if is_kill else 'stopped'}"] += 1
        with suppress(ProcessLookupError):
            if is_kill:
                os.kill(pids[name], signal.SIGKILL)
            else:
                os.kill(pids[name], signal.SIGSTOP)
                is_over.wait(rng.uniform(*STOPPED_SECS))
                os.kill(pids[name], signal.SIGCONT)
