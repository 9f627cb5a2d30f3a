"""The pace of refusals: the first are not delayed, later ones come one by one."""

import asyncio

import pytest

from meta.rpc.refusal_pace import (
    BURST,
    DELAY_SECS_MAX,
    KEYS_MAX,
    REFUSAL_SECS,
    REFUSALS_PER_SEC,
    RefusalPace,
)

HOSTILE, GOOD = ("subject", "hostile"), ("subject", "good")


def test_refusals_beyond_a_burst_are_delayed_and_those_of_others_are_not() -> None:
    now = 0.0
    pace = RefusalPace(10, lambda: now)

    delays = [pace.delay(HOSTILE) for _ in range(BURST + 10)]

    assert delays[:BURST] == [0.0] * BURST
    assert delays[BURST + 5] == pytest.approx(5 / REFUSALS_PER_SEC)
    assert pace.delay(GOOD) == 0
    now = 60.0
    assert pace.delay(HOSTILE) == 0


def test_a_refusal_that_took_more_cpu_counts_as_several() -> None:
    pace = RefusalPace(10, lambda: 0.0)

    pace.delay(HOSTILE, (BURST + 100) * REFUSAL_SECS)

    assert pace.delay(HOSTILE) == pytest.approx(100 / REFUSALS_PER_SEC)
    assert pace.delay(GOOD, REFUSAL_SECS / 2) == 0
    assert max(pace.delay(GOOD) for _ in range(BURST)) == pytest.approx(0)


def test_one_refusal_delays_the_next_for_seconds_however_much_cpu_it_took() -> None:
    now = 0.0
    pace = RefusalPace(10, lambda: now)

    pace.delay(HOSTILE, 3_600.0)

    assert pace.delay(HOSTILE) == pytest.approx(DELAY_SECS_MAX)
    now = DELAY_SECS_MAX + (BURST + 1) / REFUSALS_PER_SEC
    assert pace.delay(HOSTILE) == 0


def test_no_refusal_waits_for_longer_than_a_caller_does() -> None:
    pace = RefusalPace(10, lambda: 0.0)

    delays = [pace.delay(HOSTILE) for _ in range(10_000)]

    assert max(delays) <= DELAY_SECS_MAX + 1 / REFUSALS_PER_SEC


def test_callers_that_are_remembered_are_bounded() -> None:
    now = 0.0
    pace = RefusalPace(10, lambda: now)
    for number in range(2 * KEYS_MAX):
        pace.delay(("host", str(number)))

    assert len(pace) == KEYS_MAX + 1
    now = 60.0
    pace.delay(("host", "new"))
    assert len(pace) == 1


def test_as_many_refusals_wait_as_may_and_a_caller_that_leaves_makes_room() -> None:
    async def test() -> None:
        pace = RefusalPace(2, lambda: 0.0)
        for _ in range(BURST + 200):
            pace.delay(HOSTILE)
        waiting = [asyncio.create_task(pace.wait(HOSTILE)) for _ in range(2)]
        await asyncio.sleep(0)

        await asyncio.wait_for(pace.wait(HOSTILE), 1.0)
        waiting.pop().cancel()
        await asyncio.sleep(0)
        waiting.append(asyncio.create_task(pace.wait(HOSTILE)))
        await asyncio.sleep(0)

        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(test())
