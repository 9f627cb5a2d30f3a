"""Previews of retentions: what a change would delete at once."""

from dataclasses import replace
from typing import Any

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.messages.ingest_limits import SECONDS_MAX
from meta.services.server_parts import ServerParts
from meta.store.catalog import dataset_settings, datasets
from meta.store.deletion import baselines
from meta.store.deletion.baselines import Expiring
from meta.store.engine.pool import Transaction
from meta.v1 import status_pb2 as pb

_RETENTIONS = ("event_retention_secs", "created_retention_secs")


def preview_retention(
    server: ServerParts, request: pb.PreviewRetentionRequest
) -> pb.PreviewRetentionResponse:
    """Count what a retention of a dataset would delete at once."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    changes: dict[str, Any] = {
        field: checks.count(getattr(request, field), field, high=SECONDS_MAX)
        for field in _RETENTIONS
        if request.HasField(field)  # type: ignore[arg-type]
    }
    if not changes:
        raise InvalidArgument("no retention is given", field=_RETENTIONS[0])

    def work(tx: Transaction) -> Expiring:
        dataset = datasets.lock_settings(tx, dataset_id)
        settings = replace(dataset_settings.read(tx, dataset_id), **changes)
        return baselines.preview(tx, dataset.key, settings, server.settings.deletion_percent_max)

    return filled(pb.PreviewRetentionResponse, server.transactions.write(work))
