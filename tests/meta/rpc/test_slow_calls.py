"""The check of short calls: its share, its least number, and the minutes that it looks at."""

import pytest

from meta.metrics import RPC_SECONDS
from meta.rpc.slow_calls import SLOW_MIN, WINDOW_SECS, SlowCalls
from tests.support.clock import SettableClock


def observe(secs: float, times: int, rpc: str = "CommitOffset", code: str = "OK") -> None:
    for _ in range(times):
        RPC_SECONDS.labels(rpc, code).observe(secs)


@pytest.mark.parametrize(
    ("slow", "fast", "is_ok"),
    [
        (SLOW_MIN - 1, 0, True),
        (SLOW_MIN, 0, False),
        (SLOW_MIN, 19 * SLOW_MIN, True),
        (SLOW_MIN, 19 * SLOW_MIN - 1, False),
    ],
)
def test_a_share_of_slow_calls_and_a_least_number_need_a_person(
    slow: int, fast: int, is_ok: bool
) -> None:
    check = SlowCalls()
    observe(1.5, slow)
    observe(0.5, fast, code="UNAVAILABLE")
    observe(60.0, 10, rpc="WatchDataset")

    assert check().is_ok == is_ok
    assert check().text.startswith(f"{slow} of the last {slow + fast} short calls")


def test_calls_are_forgotten_after_two_minutes() -> None:
    clock = SettableClock()
    check = SlowCalls(clock)
    observe(2.0, SLOW_MIN)
    assert not check().is_ok

    clock.now += WINDOW_SECS - 1
    assert not check().is_ok
    clock.now += WINDOW_SECS

    assert check().is_ok
