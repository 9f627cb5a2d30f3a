"""ClaimEvents: identities of events that are rows already."""

import grpc

from meta.errors import InvalidArgument
from meta.services.messages import checks, event_identities
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.registration import event_claims
from meta.v1 import operations_pb2 as pb


def claim_events(
    server: ServerParts, request: pb.ClaimEventsRequest, context: grpc.ServicerContext
) -> pb.ClaimEventsResponse:
    """Claim identities that are not claimed yet."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    claims = event_identities.checked_claims(request.identities, "identities")
    if claims.repeats:
        raise InvalidArgument("rows are no repeats", field="identities.repeats")

    def work(tx: Transaction) -> int:
        (key,) = datasets.lock_shared(tx, [dataset_id]).values()
        rule = datasets.get(tx, dataset_id).identity_rule
        claimed = event_claims.claim_rows(tx, dataset_id, claims, key, rule)
        if claimed:
            audit.note(tx, "ClaimEvents", dataset_id, f"{claimed} identities")
        return claimed

    return pb.ClaimEventsResponse(claimed=server.transactions.write(work))
