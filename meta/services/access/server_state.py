"""The state of the server."""

from google.protobuf.duration_pb2 import Duration

from meta import access
from meta.access import Principal
from meta.services.messages import checks, convert
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import server_state
from meta.store.deletion import deletion_brakes
from meta.store.versions import witness_state
from meta.store.versions.witness_state import WitnessStatus
from meta.v1 import operations_pb2


def get_server_state(
    server: ServerParts, request: operations_pb2.GetServerStateRequest
) -> operations_pb2.GetServerStateResponse:
    """Read the version counter, the horizon and the limits."""
    state, brakes, status = server.transactions.read(
        lambda tx: (
            server_state.read(tx),
            deletion_brakes.list_visible(tx),
            witness_state.status(tx),
        )
    )
    lifetimes = server.settings.lifetimes
    return filled(
        operations_pb2.GetServerStateResponse,
        state,
        tombstone_grace=_duration(lifetimes.tombstone_grace),
        cursor_lifetime=_duration(lifetimes.cursor),
        orphan_min_age=_duration(lifetimes.orphan_min_age),
        bucket=convert.bucket(server.settings.location),
        caller=_caller(access.current.get()),
        deletion_brakes=[filled(operations_pb2.DeletionBrake, brake) for brake in brakes],
        witness=_witness(server, status),
    )


def hold_deletion(
    server: ServerParts, request: operations_pb2.HoldDeletionRequest
) -> operations_pb2.HoldDeletionResponse:
    """Hold deletion by hand; a database that was superseded may take its bucket back."""
    guard = server.transactions.database.continuity.guard
    if request.take_over and guard is not None and guard.take_over():
        return operations_pb2.HoldDeletionResponse(success=True)
    held = server.transactions.write(server_state.hold_deletion)
    return operations_pb2.HoldDeletionResponse(success=held)


def release_deletion_hold(
    server: ServerParts, request: operations_pb2.ReleaseDeletionHoldRequest
) -> operations_pb2.ReleaseDeletionHoldResponse:
    """Release the hold on deletion after a failover or restore, or the brake of a dataset."""
    if request.dataset_name:
        name = checks.name(request.dataset_name, "dataset_name")
        released = server.transactions.write(lambda tx: deletion_brakes.release(tx, name))
    else:
        released = server.transactions.write(server_state.release_deletion_hold)
    return operations_pb2.ReleaseDeletionHoldResponse(success=released)


def _witness(server: ServerParts, status: WitnessStatus) -> operations_pb2.WitnessState:
    has_guard = server.transactions.database.continuity.guard is not None
    return operations_pb2.WitnessState(
        is_kept=has_guard and status.history is not None,
        history=status.history or 0,
        restored_reason=status.restored_reason if status.is_restored else "",
        restored_at_nanos=status.restored_at_nanos if status.is_restored else 0,
        superseded_by=status.superseded_by or 0,
    )


def _caller(principal: Principal) -> operations_pb2.Caller:
    return operations_pb2.Caller(
        subject=access.shown_subject(principal.subject),
        tenant="" if principal.tenant is None else principal.tenant.name,
        tenant_id="" if principal.tenant is None else str(principal.tenant.id),
        tenant_percent=principal.account_shares.percent if principal.is_of_other_tenant else 0,
        role=principal.role.value,
        dataset_ids=sorted(map(str, principal.scope.dataset_ids or ())),
    )


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))
