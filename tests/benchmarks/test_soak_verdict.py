"""Growth over a soak."""

import random
from collections.abc import Callable

import pytest

from benchmarks.soak.verdict import GrowthAllowance, Sample, TooShort, Trend, trends

MIB = 2.0**20
ALLOWANCES = {"memory": GrowthAllowance(0.15, 64 * MIB), "files": GrowthAllowance(0.0, 10)}
NONE = GrowthAllowance(0.0, 0.0)


def _run(name: str, value: Callable[[int], float], count: int = 180) -> Trend:
    samples = [Sample(10.0 * i, {name: value(i)}) for i in range(count)]
    (found,) = trends(samples, ALLOWANCES, NONE)
    return found


@pytest.mark.parametrize(
    ("name", "value", "is_growth"),
    [
        pytest.param("memory", lambda _: 400 * MIB, False, id="flat"),
        pytest.param("memory", lambda i: (400 + i) * MIB, True, id="a steady leak"),
        pytest.param("memory", lambda i: (400 - i) * MIB, False, id="shrinks"),
        pytest.param("memory", lambda i: (100 + 0.8 * i) * MIB, False, id="under the slack"),
        pytest.param("memory", lambda i: (4_000 + 5 * i) * MIB, False, id="under the share"),
        pytest.param("memory", lambda i: min(i, 30) * 50 * MIB, False, id="grows in the warm-up"),
        pytest.param("memory", lambda i: 4e9 if i == 150 else 4e8, False, id="one spike"),
        pytest.param("memory", lambda i: 4e8 if i < 100 else 8e8, True, id="a step that stays"),
        pytest.param("files", lambda i: 100 + (i % 2) * 9, False, id="saw tooth"),
        pytest.param("files", lambda i: 100 + i / 6, True, id="one file a minute"),
        pytest.param("other", lambda i: float(i), True, id="without an allowance"),
    ],
)
def test_growth_is_a_higher_second_half(
    name: str, value: Callable[[int], float], is_growth: bool
) -> None:
    assert _run(name, value).is_growth is is_growth


def test_noise_is_not_growth() -> None:
    for seed in range(50):
        rnd = random.Random(seed)

        trend = _run("memory", lambda _, rnd=rnd: rnd.gauss(600, 60) * MIB)  # type: ignore[misc]

        assert not trend.is_growth, (seed, trend)


def test_noise_does_not_hide_growth() -> None:
    for seed in range(50):
        rnd = random.Random(seed)

        trend = _run("memory", lambda i, rnd=rnd: (rnd.gauss(600, 60) + 4 * i) * MIB)  # type: ignore[misc]

        assert trend.is_growth, (seed, trend)


def test_a_name_is_judged_by_its_part_before_the_dot() -> None:
    trend = _run("memory.nursery", lambda _: 400 * MIB)

    assert trend.limit == 464 * MIB


def test_its_own_name_wins() -> None:
    samples = [Sample(float(i), {"files.postgres": 100.0}) for i in range(100)]
    allowances = {**ALLOWANCES, "files.postgres": GrowthAllowance(0.5, 0.0)}

    (trend,) = trends(samples, allowances, NONE)

    assert trend.limit == 150


def test_what_is_missing_from_a_half_is_not_judged() -> None:
    samples = [Sample(float(i), {"files": 1.0} if i > 90 else {}) for i in range(100)]

    assert trends(samples, ALLOWANCES, NONE) == []


def test_halves_are_halves_of_the_time() -> None:
    often = [Sample(float(i), {"files": 0.0}) for i in range(100)]
    seldom = [Sample(float(i), {"files": 100.0}) for i in range(100, 201, 10)]

    (trend,) = trends(often + seldom, ALLOWANCES, NONE)

    assert trend.is_growth


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_samples_are_not_judged(count: int) -> None:
    with pytest.raises(TooShort):
        trends([Sample(float(i), {"files": 1.0}) for i in range(count)], ALLOWANCES, NONE)
