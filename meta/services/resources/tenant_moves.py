"""Moves of datasets to other tenants."""

from functools import partial

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.tenancy import dataset_moves
from meta.store.tenancy.dataset_moves import MovePlan, TenantMove
from meta.v1 import resources_pb2 as pb


def move_dataset_to_tenant(
    server: ServerParts, request: pb.MoveDatasetToTenantRequest
) -> pb.MoveDatasetToTenantResponse:
    """Give a dataset to another tenant; one that has it already is fine."""
    move = TenantMove(
        checks.uuid(request.dataset_id, "dataset_id"),
        _tenant(request),
        _new_name(request),
        request.copy_schema,
    )
    if request.dry_run:
        # As a write, which a lock refuses.
        return _message(server.transactions.write(partial(dataset_moves.plan, move=move)))
    continuity = server.transactions.database.continuity
    continuity.begin_move(move.dataset_id)
    planned = None
    while planned is None:
        planned = server.transactions.write(partial(dataset_moves.step, move=move))
    continuity.note_moved(move.dataset_id)
    return _message(planned)


def _tenant(request: pb.MoveDatasetToTenantRequest) -> dataset_moves.TenantIdentifier:
    match request.WhichOneof("tenant"):
        case "tenant_id":
            return checks.uuid(request.tenant_id, "tenant_id")
        case "tenant_name":
            return checks.name(request.tenant_name, "tenant_name")
    raise InvalidArgument("neither tenant_id nor tenant_name is set", field="tenant")


def _new_name(request: pb.MoveDatasetToTenantRequest) -> str:
    if not request.HasField("new_name"):
        return ""
    name = checks.new_dataset_name(request.new_name, "new_name")
    if name.group is not None:
        raise InvalidArgument(
            "new_name has a group: a dataset comes into the default group", field="new_name"
        )
    return name.base_name


def _message(planned: MovePlan) -> pb.MoveDatasetToTenantResponse:
    return pb.MoveDatasetToTenantResponse(
        tenant=filled(pb.Tenant, planned.tenant),
        former_tenant=filled(pb.Tenant, planned.former),
        dataset_name=planned.new_name,
        tokens=[filled(pb.RoutedToken, token) for token in planned.tokens],
        num_tokens=planned.num_tokens,
        copied_schema=planned.schema_name or None,
        success=not planned.is_done,
    )
