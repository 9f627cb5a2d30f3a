"""Timeouts of requests to a store on the network."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """Timeouts of a request; each part of an upload has as long as a whole one.

    No try starts later than deadline_secs after the first, and each ends after silence_secs in
    which nothing came, so an operation is over after the two together.
    """

    connect_secs: float = 5.0
    silence_secs: float = 30.0
    deadline_secs: float = 90.0
    wait_secs_min: float = 0.1  # Waits double from here, each with full jitter.
    wait_secs_max: float = 5.0


DEFAULT_TIMEOUTS = RequestTimeouts()
# Clients of ours wait for the answer, some of them for 30 s only.
BRIEF_TIMEOUTS = RequestTimeouts(silence_secs=10.0, deadline_secs=5.0, wait_secs_max=2.0)
PROBE_SECS = 3.0  # A process that cannot start ends at once.
