"""Identities of events: of rows that are there already, and parts of those of a registration."""

import grpc

from meta.errors import InvalidArgument
from meta.services.messages import checks, event_identities
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.registration import event_claims, staged_identities
from meta.v1 import operations_pb2 as pb
from segments.event_identity import STAGED_PARTS_MAX


def claim_events(
    server: ServerParts, request: pb.ClaimEventsRequest, context: grpc.ServicerContext
) -> pb.ClaimEventsResponse:
    """Claim identities that are not claimed yet."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    claims = event_identities.checked_claims(request.identities, "identities")
    if claims.repeats:
        raise InvalidArgument("rows are no repeats", field="identities.repeats")
    if claims.staged is not None:
        raise InvalidArgument(
            "rows are claimed in calls of their own", field="identities.staged_id"
        )

    def work(tx: Transaction) -> int:
        (key,) = datasets.lock_shared(tx, [dataset_id]).values()
        rule = datasets.get(tx, dataset_id).identity_rule
        claimed = event_claims.claim_rows(tx, dataset_id, claims, key, rule)
        if claimed:
            audit.note(tx, "ClaimEvents", dataset_id, f"{claimed} identities")
        return claimed

    return pb.ClaimEventsResponse(claimed=server.transactions.write(work))


def stage_identities(
    server: ServerParts, request: pb.StageIdentitiesRequest, context: grpc.ServicerContext
) -> pb.StageIdentitiesResponse:
    """Store a part of the identities of a registration."""
    staged_id = checks.uuid(request.staged_id, "staged_id")
    part = checks.count(request.part, "part", high=STAGED_PARTS_MAX - 1)
    days = event_identities.checked_days(request.days, "days")
    server.transactions.write(lambda tx: staged_identities.stage(tx, staged_id, part, days))
    return pb.StageIdentitiesResponse()
