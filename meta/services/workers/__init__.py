"""Calls about workers: when each was last seen, and what operators have set for it."""

from meta.services.server_parts import Operations
from meta.services.workers.workers import (
    list_worker_settings,
    list_workers,
    set_worker_settings,
)

OPERATIONS: Operations = {
    "ListWorkers": list_workers,
    "SetWorkerSettings": set_worker_settings,
    "ListWorkerSettings": list_worker_settings,
}
