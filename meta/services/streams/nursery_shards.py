"""Shards of streams, leased to nurseries."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.streams import nursery_shards
from meta.v1 import operations_pb2 as pb


def lease_nursery_shards(
    server: ServerParts, request: pb.LeaseNurseryShardsRequest
) -> pb.LeaseNurseryShardsResponse:
    """Renew a nursery's lease, and even out the shards among those that are alive."""
    nursery_id = checks.name(request.nursery_id, "nursery_id")
    if request.leave and request.renew_only:
        raise InvalidArgument("leave and renew_only exclude each other", field="leave")
    if request.leave:
        server.transactions.write(lambda tx: nursery_shards.leave(tx, nursery_id))
        return pb.LeaseNurseryShardsResponse(shard_count=nursery_shards.SHARD_COUNT)
    lease_secs = server.settings.lifetimes.nursery_lease
    shards = server.transactions.write(
        lambda tx: nursery_shards.lease(tx, nursery_id, lease_secs, renew_only=request.renew_only)
    )
    return pb.LeaseNurseryShardsResponse(
        shard_indexes=shards,
        shard_count=nursery_shards.SHARD_COUNT,
        lease_secs=int(lease_secs),
    )
