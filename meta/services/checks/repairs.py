"""RepairCatalog: repairs of findings that need no judgement."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.checks import recounts
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2 as pb

REPAIRS_MAX = 100
_REPAIRS = {
    pb.FINDING_KIND_STATS: recounts.store,
    pb.FINDING_KIND_TASK_INPUT_DEAD: recounts.cancel_dead_task,
}


def repair_catalog(
    server: ServerParts, request: pb.RepairCatalogRequest
) -> pb.RepairCatalogResponse:
    """Repair each finding that still holds."""
    checked = checks.each(request.repairs, "repairs", REPAIRS_MAX, _checked)
    return pb.RepairCatalogResponse(repaired=[_repair(server, *repair) for repair in checked])


def _repair(server: ServerParts, kind: pb.FindingKind.ValueType, subject_id: UUID) -> bool:
    def work(tx: Transaction) -> bool:
        is_repaired = _REPAIRS[kind](tx, subject_id)
        if is_repaired:
            audit.note(tx, "RepairCatalog", str(subject_id), pb.FindingKind.Name(kind))
        return is_repaired

    return server.transactions.write(work)


def _checked(repair: pb.Repair, field: str) -> tuple[pb.FindingKind.ValueType, UUID]:
    if repair.kind not in _REPAIRS:
        kinds = ", ".join(pb.FindingKind.Name(kind) for kind in _REPAIRS)
        raise InvalidArgument(f"{field}.kind must be one of {kinds}", field=f"{field}.kind")
    return repair.kind, checks.uuid(repair.subject_id, f"{field}.subject_id")
