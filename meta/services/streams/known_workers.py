"""Workers that download their configuration: their settings, and when they were seen."""

import structlog

from meta import access
from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.roles import Role
from meta.services.messages import worker_settings
from meta.store.engine.pool import Transaction
from meta.store.workers import seen, settings
from meta.v1 import ingestion_pb2

log = structlog.get_logger()
# Readers come and go, and are not workers.
_NOT_NOTED = (Role.READER, Role.OPERATOR_READ, Role.CATALOG)


def add_settings(
    tx: Transaction, reply: ingestion_pb2.DownloadConfigResponse, worker_id: str
) -> tuple[ingestion_pb2.DownloadConfigResponse, bool]:
    """Add a worker's settings to its reply; also returns True if no note of it is due."""
    caller = access.current.get()
    # Settings name datasets, which a caller that is limited to some may not see.
    if not worker_id or caller.scope.dataset_ids is not None:
        return reply, True
    in_force = settings.in_force(settings.list_applying(tx, worker_id))
    if in_force != settings.NOTHING:
        reply.worker_settings.CopyFrom(worker_settings.message(in_force))
    return reply, caller.role in _NOT_NOTED or seen.is_noted(tx, worker_id)


def note(transactions: Transactions, worker_id: str) -> None:
    """Note that a worker was seen; its configuration is answered even if that fails."""
    try:
        transactions.write(lambda tx: seen.note(tx, worker_id))
    except MetaError as error:
        log.warning("worker_not_noted", worker_id=worker_id, reason=error.reason)
