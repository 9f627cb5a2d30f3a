"""Marks of the witness: numbers, ticks and ceilings rise, and of two histories one is in force."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from meta.store.engine.continuity import Continuity
from meta.store.engine.timelines import VERSION_JUMP
from meta.store.versions.witness import (
    BEHIND,
    CEILING_STEP,
    LOST,
    Mark,
    Side,
    Verdict,
    WitnessView,
    compare,
    first_mark,
    is_in_force,
    is_overtaken,
)

TERM, NEXT_TERM, OTHER_TERM = UUID(int=1), UUID(int=2), UUID(int=3)


def side(*, history: int | None = 1, number: int = 4, tick: int = 7, ceiling: int = 200) -> Side:
    return Side(100, ceiling, False, history, number, tick, TERM, NEXT_TERM, None)


def mark(
    history: int = 1, number: int = 4, tick: int = 7, ceiling: int = 200, term: UUID = TERM
) -> Mark:
    return Mark(history, number, tick, ceiling, term)


def view(newest: Mark | None, numbers: Mapping[int, int] | None = None) -> WitnessView:
    if newest is None:
        return WitnessView(numbers or {})
    return WitnessView(numbers or {newest.history: newest.number}, newest, newest, newest.ceiling)


@pytest.mark.parametrize(
    ("reason", "tick"), [("", 9), ("the database went back", 10)], ids=["a term", "a restore"]
)
def test_a_term_begins_above_all_that_was_seen(reason: str, tick: int) -> None:
    known = view(mark(number=4, tick=9, ceiling=500))

    first = first_mark(side(), known, Verdict(1, 300, reason))

    # A tick of a restored database is above that of every copy that went on.
    assert first == Mark(1, 5, tick, 500 + CEILING_STEP, NEXT_TERM)


@pytest.mark.parametrize(
    ("own", "newest", "reason", "is_jump"),
    [
        (side(), None, LOST, True),
        (side(number=5), mark(number=4), BEHIND, True),
        (side(tick=6), mark(tick=7), "the database went back: its tick is 6", False),
        (side(), mark(term=OTHER_TERM), "another copy of the database went on", False),
    ],
    ids=["lost", "behind", "went back", "copy"],
)
def test_a_restore_begins_a_history_above_every_version_that_may_be_drawn(
    own: Side, newest: Mark | None, reason: str, is_jump: bool
) -> None:
    verdict = compare(own, view(newest))

    assert isinstance(verdict, Verdict)
    assert verdict.reason.startswith(reason)
    # Without a whole witness nobody knows how far the earlier history came.
    assert (verdict.history, verdict.version) == (2, 201 + is_jump * VERSION_JUMP)


@pytest.mark.parametrize(
    ("own", "seen"), [(200, 203), (203, 202), (203, 203)], ids=["seen", "own", "both"]
)
def test_a_history_begins_above_the_ceilings_of_the_database_and_of_the_bucket(
    own: int, seen: int
) -> None:
    verdict = compare(side(ceiling=own), view(mark(ceiling=seen, term=OTHER_TERM)))

    assert isinstance(verdict, Verdict)
    assert (verdict.history, verdict.version) == (2, 204)


def test_a_mark_counts_only_while_no_other_history_goes_on() -> None:
    own = mark(history=2, ceiling=300)
    before = view(own, {1: 4, 2: 4})

    assert is_in_force(own, before, before)
    # Another server of this history raised the ceiling.
    assert is_in_force(own, before, view(mark(history=2, number=5, ceiling=301), {1: 4, 2: 5}))
    assert not is_in_force(own, before, view(mark(history=2, ceiling=299), {1: 4, 2: 4}))
    assert not is_in_force(own, before, view(own, {1: 5, 2: 4}))
    assert not is_in_force(own, before, view(mark(history=3, number=0), {1: 4, 2: 4, 3: 0}))
    assert not is_in_force(own, before, view(mark(history=1, ceiling=400), {1: 4, 2: 4}))
    assert not is_in_force(own, before, view(None))


def test_a_database_without_a_witness_takes_one_up_and_an_attempt_is_finished() -> None:
    fresh = side(history=None, number=0, tick=0)

    assert compare(fresh, view(None)) == Verdict(1, 100)
    # Its own first mark, after a crash before the database noted it.
    attempt = mark(number=0, tick=0, ceiling=300, term=NEXT_TERM)
    assert compare(fresh, view(attempt)) == Verdict(1, 301)
    assert compare(fresh, view(mark(term=OTHER_TERM))) == Verdict(
        2, 201, "the bucket has a witness already"
    )


def test_a_database_that_went_back_while_a_term_began_counts_as_restored() -> None:
    verdict = compare(side(tick=6), view(mark(number=5, tick=7, term=NEXT_TERM)))

    assert verdict == Verdict(2, 201, "the database went back while a term began")


@pytest.mark.parametrize(
    ("own", "newest", "stops"),
    [
        (side(), mark(number=9), False),
        (side(), mark(number=9, term=OTHER_TERM), True),
        (side(history=2), mark(history=1, term=OTHER_TERM), False),
        (side(history=None), mark(term=OTHER_TERM), False),
    ],
    ids=["its own", "another's", "of an older history", "no history yet"],
)
def test_a_running_database_stops_only_for_a_mark_that_overtakes_it(
    own: Side, newest: Mark, stops: bool
) -> None:
    assert is_overtaken(own, newest) == stops


@pytest.mark.parametrize(
    ("version", "tick", "is_below"),
    [(9, 2, False), (10, 3, False), (8, 2, True), (9, 1, True)],
    ids=["same", "further", "version", "tick"],
)
def test_a_database_that_shows_less_than_was_seen_is_suspect_until_compared(
    version: int, tick: int, is_below: bool
) -> None:
    memory = Continuity()
    assert not memory.is_below(memory.floor(), 9, 2)

    assert memory.is_below(memory.floor(), version, tick) is is_below
    assert memory.is_below(memory.floor(), 20, 20) is is_below
    memory.forget(version, tick)
    assert not memory.is_below(memory.floor(), version, tick)
