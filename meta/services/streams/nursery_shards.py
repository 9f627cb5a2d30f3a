"""Shards of streams, leased to nurseries."""

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.store.streams import nursery_shards
from meta.v1 import operations_pb2 as pb
from meta.v1 import operations_pb2_grpc


class NurseryShardCalls(operations_pb2_grpc.OperationsServiceServicer):
    """The calls of OperationsService by which nurseries share the streams."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def LeaseNurseryShards(
        self, request: pb.LeaseNurseryShardsRequest, context: grpc.ServicerContext
    ) -> pb.LeaseNurseryShardsResponse:
        """Renew a nursery's lease, and even out the shards among those that are alive."""
        nursery_id = checks.name(request.nursery_id, "nursery_id")
        if request.leave and request.renew_only:
            raise InvalidArgument("leave and renew_only exclude each other", field="leave")
        if request.leave:
            self._transactions.write(lambda tx: nursery_shards.leave(tx, nursery_id))
            return pb.LeaseNurseryShardsResponse(shard_count=nursery_shards.SHARD_COUNT)
        lease_secs = self._settings.lifetimes.nursery_lease
        shards = self._transactions.write(
            lambda tx: nursery_shards.lease(
                tx, nursery_id, lease_secs, renew_only=request.renew_only
            )
        )
        return pb.LeaseNurseryShardsResponse(
            shard_indexes=shards,
            shard_count=nursery_shards.SHARD_COUNT,
            lease_secs=int(lease_secs),
        )
