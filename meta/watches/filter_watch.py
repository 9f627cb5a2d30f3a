"""Keeps the filters of large runs of deduplication keys in the memory of this process."""

from meta.process import Shutdown
from meta.store.engine.pool import Database
from meta.store.registration.run_filters import FILTERS

# As often as runs are merged, by this server or another.
PAUSE_SECS = 5.0
IDLE_SECS_MAX = 15.0
# Of the processes of a server together: filters of 134 million keys.
BYTES_MAX = 256 * 1024 * 1024


class FilterWatch:
    """Makes the filters of new runs, and drops those of runs that are gone."""

    def __init__(self, database: Database, num_processes: int, shutdown: Shutdown) -> None:
        self._database = database
        self._bytes_max = BYTES_MAX // num_processes
        self._shutdown = shutdown

    def run_round(self) -> bool:
        """Refresh the filters, until shutdown; False if none was made."""
        made = FILTERS.refresh(self._database, self._bytes_max, lambda: self._shutdown.is_requested)
        return made > 0
