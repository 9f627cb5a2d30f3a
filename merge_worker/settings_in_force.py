"""A merge worker's settings in force: those set in meta, else the environment's."""

from dataclasses import dataclass

import structlog

from dataplane.location import Locator
from merge_worker.config import Settings
from meta.errors import MetaError

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings that a thread heeds at its next poll."""

    # Threads beyond this number take no task; 0 = all take some.
    concurrent_tasks: int
    buffer_bytes_max: int
    # The datasets whose tasks it takes; empty = all.
    dataset_ids: tuple[str, ...]

    def allows(self, thread: int) -> bool:
        """True if the thread with this number, from 0, takes tasks."""
        return self.concurrent_tasks == 0 or thread < self.concurrent_tasks


def read(settings: Settings, locator: Locator) -> InForce:
    """Ask meta if its last answer is too old; while it does not answer, that one stays in force."""
    try:
        locator.refresh()
    except MetaError as error:
        log.warning("worker_settings_not_read", reason=error.reason, error=error.message)
    given = locator.worker_settings
    return InForce(
        concurrent_tasks=given.concurrent_tasks or settings.concurrent_tasks,
        buffer_bytes_max=given.buffer_bytes_max or settings.buffer_bytes_max,
        dataset_ids=tuple(given.datasets.ids),
    )
