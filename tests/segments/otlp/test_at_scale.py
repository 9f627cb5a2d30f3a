"""OTLP to columns over very many messages; each signal takes a minute or two."""

import random

import pytest

from segments.signals import SIGNALS, Signal
from tests.support.otlp import trials as otlp_trials

MESSAGES = 8_000
MUTATIONS = 34_000


@pytest.fixture
def seed() -> int:
    """First seed of this run; a failure names its seed."""
    first = random.SystemRandom().randrange(10**9)
    print(f"seeds from {first}")
    return first


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("signal", SIGNALS)
def test_thousands_of_messages_read_like_the_official_classes_read_them(
    signal: Signal, seed: int
) -> None:
    counted = otlp_trials.run("messages", signal, seed, MESSAGES)

    print(dict(counted))
    assert counted["read"] > MESSAGES / 2
    assert counted["refused"] > MESSAGES / 10


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("signal", SIGNALS)
def test_tens_of_thousands_of_damaged_slices_crash_nothing(signal: Signal, seed: int) -> None:
    trials = MUTATIONS // otlp_trials.MUTATIONS

    counted = otlp_trials.run("mutations", signal, seed, trials)

    print(dict(counted))
    assert counted["read"] + counted["refused"] + counted["read all the same"] >= MUTATIONS
    assert counted["read"] > MUTATIONS / 20
