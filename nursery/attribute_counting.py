"""Tells which datasets of a cycle have their records counted by attribute: each once a minute."""

from collections.abc import Collection
from dataclasses import replace

from nursery.planner import Plan
from segplane.dataplane.clocks import Clock

# Automatic columns are chosen once an hour, by shares.
COUNTING_SECS = 60.0


class AttributeCounting:
    """The datasets that were counted within the last minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counted_at: dict[str, float] = {}

    def mark(self, plan: Plan, counted: Collection[str]) -> Plan:
        """Return a plan whose tasks count the records of those of `counted` that are due."""
        if not counted:
            return plan
        now = self._clock.monotonic()
        self._counted_at = {
            dataset_id: at
            for dataset_id, at in self._counted_at.items()
            if now - at < COUNTING_SECS
        }
        due = {move.dataset_id for move in plan.moves if move.tasks and move.dataset_id in counted}
        due.difference_update(self._counted_at)
        if not due:
            return plan
        self._counted_at.update(dict.fromkeys(due, now))
        tasks = (
            replace(
                task,
                works=tuple(
                    replace(work, is_counted=work.dataset_id in due) for work in task.works
                ),
            )
            for task in plan.tasks
        )
        return replace(plan, tasks=tuple(tasks))
