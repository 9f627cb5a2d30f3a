"""Objects of the bucket without a row."""

import grpc

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.access import audit, server_state
from meta.store.deletion import orphans
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2
from segments.keys import check_key

KEYS_MAX = 1_000


def condemn_objects(
    server: ServerParts,
    request: operations_pb2.CondemnObjectsRequest,
    context: grpc.ServicerContext,
) -> operations_pb2.CondemnObjectsResponse:
    """Condemn objects without a row and return those that may be deleted."""
    checks.at_most(request.object_keys, "object_keys", KEYS_MAX)
    keys = [_key(key, index) for index, key in enumerate(request.object_keys)]

    def work(tx: Transaction) -> list[str]:
        if not request.dry_run:
            server_state.check_deletion_allowed(tx)
        condemned = orphans.condemn(tx, keys, is_dry_run=request.dry_run)
        if condemned and not request.dry_run:
            shown = f"{condemned[0]} to {condemned[-1]}"
            audit.note(tx, "CondemnObjects", "", f"{len(condemned)} keys, {shown}")
        return condemned

    if keys and not request.dry_run:
        server.transactions.database.continuity.look()
    run = server.transactions.read if request.dry_run else server.transactions.write
    return operations_pb2.CondemnObjectsResponse(condemned_keys=run(work))


def _key(key: str, index: int) -> str:
    field = f"object_keys[{index}]"
    try:
        return check_key(key)
    except ValueError as error:
        raise InvalidArgument(str(error), field=field) from None
