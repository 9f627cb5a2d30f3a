"""The state of the server."""

import grpc
from google.protobuf.duration_pb2 import Duration

from meta import access
from meta.access import Principal
from meta.config import Settings
from meta.services import convert
from meta.store import server_state
from meta.transactions import Transactions
from meta.v1 import operations_pb2, operations_pb2_grpc


class StateCalls(operations_pb2_grpc.OperationsServiceServicer):
    """The calls of OperationsService about the server itself."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def GetServerState(
        self, request: operations_pb2.GetServerStateRequest, context: grpc.ServicerContext
    ) -> operations_pb2.GetServerStateResponse:
        """Read the version counter, the horizon and the limits."""
        state = self._transactions.read(server_state.read)
        lifetimes = self._settings.lifetimes
        return operations_pb2.GetServerStateResponse(
            version=state.version,
            deletion_horizon=state.deletion_horizon,
            database_time_nanos=state.database_time_nanos,
            tombstone_grace=_duration(lifetimes.tombstone_grace),
            cursor_lifetime=_duration(lifetimes.cursor),
            orphan_min_age=_duration(lifetimes.orphan_min_age),
            bucket=convert.bucket(self._settings.location),
            deletion_held=state.deletion_held,
            caller=_caller(access.current.get()),
        )

    def ReleaseDeletionHold(
        self, request: operations_pb2.ReleaseDeletionHoldRequest, context: grpc.ServicerContext
    ) -> operations_pb2.ReleaseDeletionHoldResponse:
        """Release the hold on deletion after a failover or restore."""
        released = self._transactions.write(server_state.release_deletion_hold)
        return operations_pb2.ReleaseDeletionHoldResponse(success=released)


def _caller(principal: Principal) -> operations_pb2.Caller:
    return operations_pb2.Caller(
        subject=principal.subject,
        role=principal.role.value,
        dataset_ids=sorted(map(str, principal.dataset_ids or ())),
    )


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))
