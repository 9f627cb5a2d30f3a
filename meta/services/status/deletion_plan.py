"""Plans of deletion: what falls due when, and what the rest waits for."""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from meta.errors import NotFound
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import server_state
from meta.store.access.server_state import ServerState
from meta.store.catalog import datasets
from meta.store.deletion import deletion_plans, vacuum_plans, vacuums
from meta.store.deletion.deletion_plans import (
    DeletionAmount,
    DeletionPlan,
    DeletionScope,
    PlannedDeletion,
    WaitingDeletion,
)
from meta.store.deletion.vacuums import Vacuum
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_expiry
from meta.store.iceberg.table_expiry import TableObjectAmount
from meta.v1 import resources_pb2
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000
_TableObjects: TypeAlias = tuple[TableObjectAmount, TableObjectAmount]


def plan_deletion(server: ServerParts, request: pb.PlanDeletionRequest) -> pb.PlanDeletionResponse:
    """Plan the deletion of one dataset or of all."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    identifier = _identifier(request)
    lifetimes = server.settings.lifetimes

    def work(tx: Transaction) -> tuple[DeletionPlan, _TableObjects, ServerState, list[Vacuum]]:
        key = None if identifier is None else _key(tx, identifier)
        scope = DeletionScope(
            key,
            lifetimes.tombstone_grace,
            lifetimes.dataset_grace,
            limit,
            server.settings.deletion_percent_max,
        )
        return (
            deletion_plans.make(tx, scope),
            table_expiry.count_use(tx, key, lifetimes.tombstone_grace),
            server_state.read(tx),
            vacuums.list_open(tx),
        )

    plan, table_objects, state, unfinished = server.transactions.read(work)
    due_objects, kept_objects = (filled(pb.TableObjectAmount, amount) for amount in table_objects)
    planned = (plan.due, plan.within_week, plan.later)
    return pb.PlanDeletionResponse(
        planned=[filled(pb.PlannedDeletion, row) for row in plan.planned],
        waiting=[filled(pb.WaitingDeletion, row) for row in plan.waiting],
        due=_amount(plan.due),
        within_week=_amount(plan.within_week),
        later=_amount(plan.later),
        all_waiting=_amount(plan.all_waiting),
        planned_left_out=_left_out(planned, plan.planned),
        waiting_left_out=_left_out((plan.all_waiting,), plan.waiting),
        deletion_held=state.deletion_held,
        unfinished_vacuums=[filled(resources_pb2.Vacuum, each) for each in unfinished],
        database_time_nanos=state.database_time_nanos,
        table_objects_due=due_objects,
        table_objects_kept=kept_objects,
        foreseen_brakes=[filled(pb.ForeseenBrake, brake) for brake in plan.foreseen_brakes],
    )


def _identifier(request: pb.PlanDeletionRequest) -> UUID | str | None:
    """The named dataset; None = all."""
    if request.HasField("dataset_id"):
        return checks.uuid(request.dataset_id, "dataset_id")
    if request.HasField("dataset_name"):
        return checks.name(request.dataset_name, "dataset_name")
    return None


def _key(tx: Transaction, identifier: UUID | str) -> int:
    """The key of a dataset, by its id a deleted one too. Raises NotFound."""
    if isinstance(identifier, str):
        return datasets.get(tx, identifier).key
    key = vacuum_plans.key_of(tx, identifier)
    if not key:
        raise NotFound("there is no such dataset", dataset=identifier)
    return key


def _amount(amount: DeletionAmount) -> pb.DeletionAmount:
    return filled(pb.DeletionAmount, amount)


def _left_out(
    amounts: Sequence[DeletionAmount],
    listed: Sequence[PlannedDeletion] | Sequence[WaitingDeletion],
) -> pb.DeletionAmount:
    """The rows of some amounts that are not listed."""
    return pb.DeletionAmount(
        rows=sum(each.rows for each in amounts) - len(listed),
        segments=sum(each.segments for each in amounts) - sum(row.segments for row in listed),
        size_bytes=sum(each.size_bytes for each in amounts) - sum(row.size_bytes for row in listed),
    )
