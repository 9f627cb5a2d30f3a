"""Moves are released as soon as their own tasks are done, and never after one failed."""

from nursery.planning.planner import DatasetMove, MergedSpan, Plan
from nursery.registration.move_tracker import MoveTracker
from nursery.results import DatasetResult, TaskResult, UnreadableBaby
from segments.offsets import OffsetSpan
from segments.parquet.footer import SectionContent, SegmentContent, SegmentFacts
from segments.parquet.upload import WrittenSegment

SPANS = (MergedSpan(OffsetSpan("s", 0, 9)),)


def plan(**tasks: set[int]) -> Plan:
    return Plan(moves=tuple(DatasetMove(d, SPANS, frozenset(t)) for d, t in tasks.items()))


def wrote(*dataset_ids: str, error: str = "", unreadable: int | None = None) -> TaskResult:
    baby = () if unreadable is None else (UnreadableBaby("s", unreadable, "away"),)
    return TaskResult(tuple(DatasetResult(d, (SEGMENT,), error) for d in dataset_ids), baby)


def released(tracker: MoveTracker) -> dict[str, int]:
    """Segments of the released moves, by dataset."""
    return {item.move.dataset_id: len(item.segments) for item in tracker.take_ready()}


CONTENT = SegmentContent(2, {"logs": SectionContent(1, 0, 0)})
SEGMENT = WrittenSegment("key", SegmentFacts(1, {"logs": 1}, 1, 1, 0, 0, 0, CONTENT))


def test_a_move_without_tasks_is_released_at_once_and_once() -> None:
    tracker = MoveTracker(plan(idle=set(), busy={0}))

    assert released(tracker) == {"idle": 0}
    assert released(tracker) == {}


def test_a_dataset_does_not_wait_for_tasks_of_others() -> None:
    tracker = MoveTracker(plan(fast={1}, slow={0}, split={0, 1}))

    tracker.add(1, wrote("fast", "split"))
    assert released(tracker) == {"fast": 1}
    tracker.add(0, wrote("slow", "split"))
    assert released(tracker) == {"slow": 1, "split": 2}


def test_a_dataset_that_fails_in_one_task_is_not_released() -> None:
    tracker = MoveTracker(plan(split={0, 1}, other={0}))

    tracker.add(
        0, TaskResult((*wrote("split", error="disk full").datasets, *wrote("other").datasets))
    )
    tracker.add(1, wrote("split"))

    assert released(tracker) == {"other": 1}


def test_a_failed_job_takes_its_moves_with_it_and_no_other() -> None:
    tracker = MoveTracker(plan(split={0, 1}, other={1}))

    tracker.fail(0)
    tracker.add(1, wrote("split", "other"))

    assert released(tracker) == {"other": 1}


def test_no_move_passes_a_baby_that_one_of_its_tasks_could_not_read() -> None:
    tracker = MoveTracker(plan(passes={0}, elsewhere={1}))

    tracker.add(0, wrote("passes", unreadable=4))
    tracker.add(1, wrote("elsewhere", unreadable=10))

    assert released(tracker) == {"elsewhere": 1}
