"""The database's time between two replies."""

from dataclasses import dataclass

import pytest

from dataplane.clocks import Clock, DatabaseClock, read_database_clock
from meta.client import MetaClient

SECOND = 10**9


@dataclass
class Hands:
    """A clock's hands, moved by the test."""

    wall_nanos: int = 0
    monotonic: float = 0.0

    def clock(self) -> Clock:
        return Clock(lambda: self.wall_nanos, lambda: self.monotonic)


def test_time_passes_by_the_monotonic_clock_from_the_middle_of_the_call_on() -> None:
    hands = Hands(wall_nanos=5, monotonic=12.0)
    database_clock = DatabaseClock(hands.clock())

    database_clock.observe(1_000 * SECOND, sent_at=10.0)
    assert database_clock.now_nanos() == 1_001 * SECOND

    hands.monotonic += 30.0
    hands.wall_nanos -= 3_600 * SECOND
    assert database_clock.now_nanos() == 1_031 * SECOND


def test_a_clock_that_runs_ahead_has_positive_skew() -> None:
    hands = Hands(wall_nanos=1_090 * SECOND)
    database_clock = DatabaseClock(hands.clock())

    database_clock.observe(1_000 * SECOND, sent_at=0.0)

    assert database_clock.skew_secs() == 90.0


def test_meta_states_the_time_of_its_database(meta_client: MetaClient) -> None:
    assert read_database_clock(meta_client).skew_secs() == pytest.approx(0.0, abs=5.0)
