"""Every pair of hot calls ends as one after the other, whatever the order of their statements."""

from itertools import combinations_with_replacement

import pytest

from meta.services.merging.janitor import JanitorServicer
from tests.support.interleaving.actors import CALLS, Stage, State, prepare, verdict
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.interleaving.operators import Operator

End = tuple[State, str, str]


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(CALLS, 2)))
def test_two_calls_at_once_end_as_one_after_the_other(
    interleaver: Interleaver, operator: Operator, first: str, second: str
) -> None:
    janitor = JanitorServicer(operator.scene.transactions, operator.scene.settings)
    expected = {
        _one_after_the_other(prepare(operator, janitor), first, second, is_turned)
        for is_turned in (False, True)
    }
    stages: list[Stage] = []

    def make() -> tuple[Work, Work]:
        stage = prepare(operator, janitor)
        stages.append(stage)
        return lambda: verdict(CALLS[first], stage), lambda: verdict(CALLS[second], stage)

    for one in interleaver.explore(make):
        end = (stages[-1].state(), one.first, one.second)
        assert end in expected, f"{one}: {_difference(end, expected)}"


def _one_after_the_other(stage: Stage, first: str, second: str, is_turned: bool) -> End:
    if is_turned:
        other, one = verdict(CALLS[second], stage), verdict(CALLS[first], stage)
    else:
        one, other = verdict(CALLS[first], stage), verdict(CALLS[second], stage)
    return stage.state(), one, other


def _difference(end: tuple[object, ...], expected: set[End]) -> list[object]:
    """Differences from every serial order."""
    state = end[0]
    assert isinstance(state, tuple)
    return [
        ({*state} - {*serial[0]}, {*serial[0]} - {*state}, serial[1:], end[1:])
        for serial in expected
    ]
