"""The choice of babies: bounds, order, and that nothing is read twice or passed over."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest

from nursery.planning.pending import Limits
from nursery.planning.planner import SPANS_MAX, DatasetMove, MergedSpan, Plan, plan
from nursery.planning.streams import BabyFacts, IngestStream
from nursery.planning.tasks import TASK_BYTES_MIN
from segments.offsets import OffsetSpan

NOW = 1_700_000_000 * 10**9
WIDE = Limits(bytes_max=10**9, babies_max=10_000, tasks_max=2)
LOGS, SPANS, GONE = (str(UUID(int=i)) for i in (1, 2, 3))


def baby(
    offset: int, *datasets: str, size: int = 1000, age_secs: float = 60.0, records: int = 0
) -> BabyFacts:
    committed_at = NOW - int(age_secs * 1e9) + offset
    return BabyFacts(offset, size, committed_at, frozenset(datasets), num_records=records)


def stream(
    *babies: BabyFacts, merged: dict[str, int] | None = None, name: str = "s"
) -> IngestStream:
    last = max((b.offset for b in babies), default=-1)
    return IngestStream(name, last, {LOGS: -1} if merged is None else merged, babies)


def reads(found: Plan) -> set[tuple[str, int]]:
    return {(r.stream_id, r.offset) for task in found.tasks for r in task.reads}


def moves(found: Plan) -> dict[str, DatasetMove]:
    assert len({move.dataset_id for move in found.moves}) == len(found.moves)
    return {move.dataset_id: move for move in found.moves}


def test_a_stream_is_merged_up_to_its_committed_offset() -> None:
    found = plan([stream(baby(0, LOGS), baby(1, LOGS))], {}, WIDE, NOW)

    assert moves(found)[LOGS].spans[0].offsets == OffsetSpan("s", 0, 1)
    assert reads(found) == {("s", 0), ("s", 1)}
    assert not found.is_cut


def test_a_young_stream_waits() -> None:
    limits = replace(WIDE, wait_secs=5.0, bytes_min=10_000)
    young = stream(baby(0, LOGS, age_secs=1.0))

    assert plan([young], {}, limits, NOW) == Plan()
    assert plan([replace(young, is_stopped=True)], {}, limits, NOW).tasks
    large = stream(baby(0, LOGS, age_secs=1.0, size=10_000))
    assert plan([large], {}, limits, NOW).tasks


def test_a_plan_is_whole_if_it_merges_all_and_nothing_by_its_size() -> None:
    limits = replace(WIDE, wait_secs=5.0, bytes_min=10_000, records_min=100)
    old = stream(baby(0, LOGS, age_secs=9.0))
    young = stream(baby(0, SPANS, age_secs=1.0), merged={SPANS: -1}, name="young")
    long = stream(baby(0, LOGS, age_secs=9.0, records=100))
    large = stream(baby(0, LOGS, age_secs=9.0, size=10_000))

    assert plan([old], {}, limits, NOW).is_whole
    assert not plan([old, young], {}, limits, NOW).is_whole
    assert not plan([long], {}, limits, NOW).is_whole
    assert not plan([large], {}, limits, NOW).is_whole
    assert not plan([old], {}, limits, NOW, {"other": 3}).is_whole
    assert not plan([old, replace(young, waiting=frozenset({SPANS}))], {}, limits, NOW).is_whole
    assert not plan([replace(old, committed_offset=5)], {}, limits, NOW).is_whole


@pytest.mark.parametrize(
    ("records_min", "records", "times", "is_due"),
    [(0, 10**9, 1.0, False), (100, 99, 1.0, False), (100, 100, 1.0, True), (100, 100, 2.0, False)],
    ids=["off", "below", "reached", "behind with merges"],
)
def test_a_dataset_is_due_at_a_number_of_records(
    records_min: int, records: int, times: float, is_due: bool
) -> None:
    limits = Limits(10**9, 10, wait_secs=60.0, bytes_min=10**9, records_min=records_min)
    young = stream(
        baby(0, LOGS, age_secs=1.0, records=records - 40),
        # The half of its records counts for each of its datasets.
        baby(1, LOGS, SPANS, age_secs=1.0, records=80),
        merged={LOGS: -1, SPANS: -1},
    )

    found = plan([young], {}, replace(limits, patience={LOGS: times}), NOW)

    assert bool(found.tasks) == is_due


def test_the_oldest_babies_of_all_streams_go_first() -> None:
    old = stream(baby(0, LOGS, age_secs=90.0), baby(1, LOGS, age_secs=10.0), name="old")
    other = stream(baby(0, LOGS, age_secs=80.0), baby(1, LOGS, age_secs=70.0), name="other")

    found = plan([other, old], {}, replace(WIDE, babies_max=3), NOW)

    assert reads(found) == {("old", 0), ("other", 0), ("other", 1)}
    assert {(s.offsets.stream_id, s.offsets.end) for s in moves(found)[LOGS].spans} == {
        ("old", 0),
        ("other", 1),
    }
    assert found.is_cut


def test_one_baby_above_the_limit_is_merged_alone() -> None:
    found = plan(
        [stream(baby(0, LOGS, size=500), baby(1, LOGS))], {}, replace(WIDE, bytes_max=10), NOW
    )

    assert reads(found) == {("s", 0)}


def test_a_dataset_that_got_nothing_moves_without_a_job() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), merged={LOGS: -1, SPANS: -1})

    found = plan([both], {}, WIDE, NOW)

    advance = moves(found)[SPANS]
    assert advance.spans == (MergedSpan(OffsetSpan("s", 0, 1), both.babies[1].committed_at),)
    assert not advance.tasks
    assert moves(found)[LOGS].tasks


def test_a_dataset_that_got_nothing_waits_for_its_turn() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), merged={LOGS: -1, SPANS: -1})

    assert moves(plan([both], {}, replace(WIDE, idle_advance_secs=600.0), NOW)).keys() == {LOGS}


def test_nothing_passes_a_baby_that_cannot_be_read() -> None:
    both = stream(baby(0, LOGS), baby(1, LOGS), baby(2, LOGS), merged={LOGS: -1, SPANS: -1})

    found = plan([both], {}, WIDE, NOW, blocked={"s": 1})

    assert {move.spans[0].offsets.end for move in found.moves} == {0}


def test_a_baby_of_a_deleted_dataset_is_read_by_an_owner() -> None:
    found = plan([stream(baby(0, GONE))], {}, WIDE, NOW)

    (task,) = found.tasks
    assert [(r.offset, r.is_owner) for r in task.reads] == [(0, True)]
    assert moves(found)[LOGS].tasks == {0}


def test_a_baby_of_a_deleted_dataset_is_read_when_the_last_dataset_passes_it() -> None:
    both = stream(baby(0, GONE), baby(1, LOGS), merged={LOGS: -1, SPANS: -1})
    patient = replace(WIDE, idle_advance_secs=600.0)

    assert reads(plan([both], {}, patient, NOW)) == {("s", 1)}
    later = replace(both, merged={LOGS: 1, SPANS: -1})
    assert reads(plan([later], {}, WIDE, NOW)) == {("s", 0)}


def test_an_unstamped_baby_is_read_for_every_dataset() -> None:
    both = stream(baby(0), merged={LOGS: -1, SPANS: -1})

    assert moves(plan([both], {}, WIDE, NOW)).keys() == {LOGS, SPANS}


def test_offsets_that_meta_did_not_describe_are_merged_too() -> None:
    blind = replace(stream(), committed_offset=3)

    assert reads(plan([blind], {}, WIDE, NOW)) == {("s", o) for o in range(4)}


def test_a_large_dataset_is_split_over_tasks() -> None:
    size = 4 * 1024 * 1024
    found = plan([stream(*(baby(o, LOGS, size=size) for o in range(8)))], {}, WIDE, NOW)

    first, second = found.tasks
    assert first.works[0].ranges == (OffsetSpan("s", 0, 3),)
    assert second.works[0].ranges == (OffsetSpan("s", 4, 7),)
    assert {r.offset for r in second.reads} == {4, 5, 6, 7}


def test_a_small_cycle_is_one_task() -> None:
    half = TASK_BYTES_MIN - 1024 * 1024

    few = plan([stream(baby(0, LOGS, size=half), baby(1, LOGS, size=half))], {}, WIDE, NOW)
    size = half + 1024 * 1024
    many = plan([stream(baby(0, LOGS, size=size), baby(1, LOGS, size=size))], {}, WIDE, NOW)

    assert (len(few.tasks), len(many.tasks)) == (1, 2)


def test_many_datasets_are_divided_however_few_their_bytes_are() -> None:
    datasets = [str(UUID(int=i)) for i in range(128)]
    found = plan([stream(baby(0, *datasets), merged=dict.fromkeys(datasets, -1))], {}, WIDE, NOW)

    assert len(found.tasks) == 2


def test_at_most_two_tasks_read_a_baby() -> None:
    size = 16 * 1024 * 1024
    streams = [stream(baby(0, *DATASETS, size=size), name=f"s{i}", merged=NONE) for i in range(4)]

    found = plan(streams, {}, replace(WIDE, tasks_max=8), NOW)

    assert len(found.tasks) == 8
    assert set(readers(found).values()) == {2}
    assert {m.dataset_id: len(m.tasks) >= 4 for m in found.moves} == dict.fromkeys(DATASETS, True)


def test_files_of_many_small_datasets_are_not_multiplied_by_cores() -> None:
    datasets = [str(UUID(int=i)) for i in range(400)]
    size = 1024 * 1024
    babies = [baby(o, *datasets, size=size) for o in range(16)]

    found = plan([stream(*babies, merged=dict.fromkeys(datasets, -1))], {}, CORES, NOW)

    assert max(len(move.tasks) for move in found.moves) == 1


def test_a_dataset_is_due_by_its_own_age_and_size() -> None:
    limits = replace(WIDE, wait_secs=30.0, bytes_min=10_000)
    babies = (
        baby(0, LOGS, *MANY, size=100, age_secs=10.0),
        baby(1, LOGS, size=20_000, age_secs=5.0),
        baby(2, *MANY, size=100, age_secs=1.0),
    )

    found = plan([stream(*babies, merged=dict.fromkeys((LOGS, *MANY), -1))], {}, limits, NOW)

    assert moves(found).keys() == {LOGS}
    assert reads(found) == {("s", 0), ("s", 1)}
    assert moves(found)[LOGS].spans[0].offsets == OffsetSpan("s", 0, 2)


def test_a_second_read_of_a_baby_merges_all_the_rest_up_to_it() -> None:
    limits = replace(WIDE, wait_secs=30.0, idle_advance_secs=600.0)
    babies = (
        baby(0, LOGS, *MANY, age_secs=20.0),
        baby(1, LOGS, MANY[0], age_secs=50.0),
        baby(2, *MANY[1:], age_secs=10.0),
    )
    merged = dict.fromkeys(MANY, -1) | {LOGS: 1}

    found = plan([stream(*babies, merged=merged)], {}, replace(limits, bytes_min=10**9), NOW)

    assert reads(found) == {("s", 0), ("s", 1)}
    assert set(readers(found).values()) == {1}
    ends = {dataset_id: move.spans[0].offsets.end for dataset_id, move in moves(found).items()}
    assert ends == dict.fromkeys(MANY[1:], 1) | {MANY[0]: 2}


def test_a_stream_most_of_whose_datasets_are_due_is_merged_whole() -> None:
    limits = replace(WIDE, wait_secs=30.0, bytes_min=10**9)
    babies = (baby(0, LOGS, SPANS, age_secs=50.0), baby(1, LOGS, SPANS, GONE, age_secs=1.0))

    found = plan([stream(*babies, merged=NONE)], {}, limits, NOW)

    assert {move.spans[0].offsets.end for move in found.moves} == {1}
    assert moves(found).keys() == {LOGS, SPANS, GONE}


def test_a_stream_with_more_babies_than_meta_lists_is_merged_whole() -> None:
    limits = replace(WIDE, wait_secs=30.0, bytes_min=10**9)
    listed = stream(baby(0, LOGS, age_secs=1.0))

    found = plan([replace(listed, committed_offset=5)], {}, limits, NOW)

    assert reads(found) == {("s", 0)}
    assert found.is_cut


DATASETS = [LOGS, SPANS, GONE]
NONE = dict.fromkeys(DATASETS, -1)
MANY = [str(UUID(int=i)) for i in range(10, 15)]
CORES = replace(WIDE, tasks_max=8)


@pytest.mark.long
def test_a_dataset_that_got_nothing_in_many_streams_moves_in_several_registrations() -> None:
    idle = [
        stream(baby(0, SPANS), merged={LOGS: -1, SPANS: 0}, name=f"s{number:05}")
        for number in range(2 * SPANS_MAX + 1)
    ]
    holding = stream(baby(0, LOGS), name="t")

    found = plan([holding, *idle], {}, replace(WIDE, idle_advance_secs=0.0), NOW)

    own = [move for move in found.moves if move.dataset_id == LOGS]
    assert max(len(move.spans) for move in own) == SPANS_MAX
    assert [bool(move.tasks) for move in own] == [True, False, False, False]
    assert own[0].spans == (MergedSpan(OffsetSpan("t", 0, 0), holding.babies[0].committed_at),)
    moved = [span.offsets.stream_id for move in own for span in move.spans]
    assert len(moved) == len(set(moved)) == 2 * SPANS_MAX + 2


def readers(found: Plan) -> Counter[tuple[str, int]]:
    """Number of tasks that read each baby."""
    return Counter((r.stream_id, r.offset) for task in found.tasks for r in task.reads)
