"""Warns that a database was restored: records may wait in the bucket for a reconciliation."""

from __future__ import annotations

import warnings

from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1 import operations_pb2 as pb


class RecordsAwaitReconcile(UserWarning):
    """Records that were stored before a restore of the database may be missing."""


def warn_of_restore(client: MetaClient) -> None:
    """Warn between a restore and the release of deletion; a caller who may not know is not told."""
    try:
        witness = client.operations.GetServerState(pb.GetServerStateRequest()).witness
    except MetaError:
        return
    if witness.restored_reason:
        warnings.warn(
            "the database was restored from a backup: records that were stored since are missing"
            " until an operator runs `segplane catalog reconcile` and releases deletion",
            RecordsAwaitReconcile,
            stacklevel=4,
        )
