"""Unknown segments that hold a baby in part, because a merge crashed between its outputs."""

from segments.rebuild.lost import choose_lost
from tests.support.inventories import DATASET, STREAM, baby, divided, raw


def test_a_part_of_a_baby_that_waits_for_its_merge_does_not_come_back() -> None:
    """It would be passed, and its other days were lost."""
    gone = raw(1, (0, 0))
    part, _ = divided(3, 1, raw(2, (1, 1)))
    present = {STREAM: {1: baby(1, DATASET)}}

    choice = choose_lost(DATASET, [], [gone, part], present, {STREAM: -1}, {})

    assert (choice.reason, choice.chosen, choice.ends) == ("", (gone,), {STREAM: 0})
    assert choice.held == {part.key}


def test_a_baby_that_would_be_passed_and_is_there_in_part_has_to_be_merged_first() -> None:
    part, _ = divided(3, 1, raw(1, (0, 0)))
    gone = raw(2, (1, 1))
    present = {STREAM: {0: baby(0, DATASET)}}

    choice = choose_lost(DATASET, [], [part, gone], present, {STREAM: -1}, {})

    assert choice.reason == f"the baby 0 of stream {STREAM} has to be merged first"
    assert not choice.chosen


def test_a_batch_does_not_come_back_without_a_part_of_it() -> None:
    """The records of the part that is live already would be doubled, or its others lost."""
    part, other = (
        raw(number, (offset, offset), part=number, parts=2, batch="b")
        for offset, number in enumerate((1, 2))
    )

    choice = choose_lost(DATASET, [raw(3, (1, 1))], [part, other], {}, {STREAM: 1}, {})

    assert choice.reason == f"{other.key} holds a part of what comes back, and cannot"
    assert not choice.chosen
