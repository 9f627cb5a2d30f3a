"""Tells which moves of a plan can be registered, as its tasks finish. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nursery.planning.planner import DatasetMove, Plan
from nursery.results import DatasetResult, TaskResult
from segments.parquet.upload import WrittenSegment


@dataclass(slots=True)
class FinishedMove:
    """A move, and the results of its tasks."""

    move: DatasetMove
    results: list[DatasetResult] = field(default_factory=list)

    @property
    def segments(self) -> list[WrittenSegment]:
        """The segments that its tasks have written."""
        return [segment for result in self.results for segment in result.segments]


class MoveTracker:
    """The moves of one plan; each is released once, when the last of its tasks has succeeded."""

    def __init__(self, plan: Plan) -> None:
        self._ready = [FinishedMove(move) for move in plan.moves if not move.tasks]
        self._waiting: dict[str, tuple[FinishedMove, set[int]]] = {
            move.dataset_id: (FinishedMove(move), set(move.tasks))
            for move in plan.moves
            if move.tasks
        }
        self._by_task: dict[int, list[str]] = {}
        for dataset_id, (_, tasks) in self._waiting.items():
            for index in tasks:
                self._by_task.setdefault(index, []).append(dataset_id)

    def take_ready(self) -> Sequence[FinishedMove]:
        """Take the moves that can be registered now."""
        ready, self._ready = self._ready, []
        return ready

    def add(self, index: int, result: TaskResult) -> None:
        """Count a task that has run; moves that it could not do for are dropped."""
        failed = {dataset.dataset_id for dataset in result.datasets if dataset.error}
        results = {dataset.dataset_id: dataset for dataset in result.datasets}
        for dataset_id in self._by_task.get(index, ()):
            if dataset_id not in self._waiting:
                continue
            finished, tasks = self._waiting[dataset_id]
            if dataset_id in failed or _passes_unreadable(finished.move, result):
                del self._waiting[dataset_id]
                continue
            if dataset_id in results:
                finished.results.append(results[dataset_id])
            tasks.discard(index)
            if not tasks:
                del self._waiting[dataset_id]
                self._ready.append(finished)

    def fail(self, index: int) -> None:
        """Drop the moves of a task whose job failed."""
        for dataset_id in self._by_task.get(index, ()):
            self._waiting.pop(dataset_id, None)


def _passes_unreadable(move: DatasetMove, result: TaskResult) -> bool:
    return any(
        span.offsets.stream_id == baby.stream_id
        and span.offsets.start <= baby.offset <= span.offsets.end
        for baby in result.unreadable
        for span in move.spans
    )
