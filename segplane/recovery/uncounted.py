"""Payloads of the quarantine that no registration counts, left by nurseries that died."""

from meta.client import MetaClient
from meta.v1 import operations_pb2
from segments.keys import quarantine_note_key
from segplane.recovery.payload_replay import ReplayRefused
from segplane.recovery.quarantine import find, open_quarantine


def discard_held(client: MetaClient, key: str, acceptance: operations_pb2.LossAcceptance) -> None:
    """Delete a payload that no registration counts and whose records another one holds.

    Nothing is lost with it, and neither fact changes any more. Raises ReplayRefused for any other
    payload, MetaError, SegmentsError.
    """
    _, store = open_quarantine(client)
    item = find(store, key)
    if not item.dataset_id:
        raise ReplayRefused("its note names no dataset, so the owner of the records is not known")
    reply = client.operations.CheckQuarantined(
        operations_pb2.CheckQuarantinedRequest(object_keys=[key], dataset_id=item.dataset_id)
    )
    if not reply.uncounted:
        raise ReplayRefused(f"{key} counts: replay it, or drop it with its records")
    if not reply.held:
        raise ReplayRefused(
            f"no registration is known that holds the records of {key}: replay it with --uncounted"
        )
    # Checked again, and audited, before the object goes.
    client.operations.DropPayload(
        operations_pb2.DropPayloadRequest(
            object_key=key, dataset_id=item.dataset_id, acceptance=acceptance, held=True
        )
    )
    store.delete([key, quarantine_note_key(key)])
