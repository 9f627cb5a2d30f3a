"""Vacuums: the deletions of every day at once, for versions that an operator let expire.

meta has made due what a vacuum deletes. Pins, brakes and holds keep segments as they always do.
"""

import structlog

from janitor.jobs import NANOS, Tools, delete_table_metadata, delete_tombstoned, sweep_orphans
from meta.v1.operations_pb2 import GetServerStateRequest
from meta.v1.resources_pb2 import FinishVacuumRequest, TakeVacuumsRequest, Vacuum

log = structlog.get_logger()


def carry_out_vacuums(tools: Tools) -> None:
    """Delete what vacuums have made due, and orphans as old as they say; then note their ends.

    A vacuum whose janitor died begins again.
    """
    vacuums = tools.meta.resources.TakeVacuums(TakeVacuumsRequest()).vacuums
    if not vacuums:
        return
    delete_tombstoned(tools)
    delete_table_metadata(tools)
    for vacuum in vacuums:
        if not _finish(tools, vacuum):
            return


def _finish(tools: Tools, vacuum: Vacuum) -> bool:
    """Sweep the orphans of a vacuum and note its end; false on shutdown."""
    state = tools.meta.operations.GetServerState(GetServerStateRequest())
    # Its key was condemned before an orphan is deleted, so that a late writer is refused.
    age = min(state.orphan_min_age.ToNanoseconds(), vacuum.older_than_secs * NANOS)
    swept = sweep_orphans(tools, age, vacuum.dataset_id)
    if tools.shutdown.is_requested:
        return False
    request = FinishVacuumRequest(
        vacuum_id=vacuum.id,
        orphans=swept.deleted,
        orphan_bytes=swept.deleted_bytes,
        orphans_left=swept.remaining,
    )
    tools.meta.resources.FinishVacuum(request)
    log.info("vacuum_finished", vacuum_id=vacuum.id, dataset_id=vacuum.dataset_id)
    return True
