"""Deduplication keys: of rows that are there already, and parts of those of a registration."""

from meta.errors import InvalidArgument
from meta.services.messages import checks, deduplication_keys
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.deduplication import staging
from meta.store.engine.pool import Transaction
from meta.store.registration import deduplication
from meta.v1 import operations_pb2 as pb
from segments.deduplication import STAGED_PARTS_MAX


def claim_events(server: ServerParts, request: pb.ClaimEventsRequest) -> pb.ClaimEventsResponse:
    """Claim deduplication keys that are not claimed yet."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    claims = deduplication_keys.checked_claims(request.deduplication_keys, "deduplication_keys")
    if claims.duplicates:
        raise InvalidArgument("rows are not duplicates", field="deduplication_keys.duplicates")
    if claims.staged is not None:
        raise InvalidArgument(
            "rows are claimed in separate calls", field="deduplication_keys.staged_id"
        )

    def work(tx: Transaction) -> int:
        (key,) = datasets.lock_shared(tx, [dataset_id]).values()
        rule = datasets.get(tx, dataset_id).deduplication_rule
        claimed = deduplication.claim_rows(tx, dataset_id, claims, key, rule)
        if claimed:
            audit.note(tx, "ClaimEvents", dataset_id, f"{claimed} deduplication keys")
        return claimed

    return pb.ClaimEventsResponse(claimed=server.transactions.write(work))


def stage_deduplication_keys(
    server: ServerParts, request: pb.StageDeduplicationKeysRequest
) -> pb.StageDeduplicationKeysResponse:
    """Store a part of the deduplication keys of a registration."""
    staged_id = checks.uuid(request.staged_id, "staged_id")
    part = checks.count(request.part, "part", high=STAGED_PARTS_MAX - 1)
    days = deduplication_keys.checked_days(request.days, "days")
    server.transactions.write(lambda tx: staging.stage(tx, staged_id, part, days))
    return pb.StageDeduplicationKeysResponse()
