"""Vacuums: plans and requests of operators, and their work by janitors."""

from uuid import UUID

from meta.errors import InvalidArgument, NotFound
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import server_state
from meta.store.catalog import datasets
from meta.store.deletion import vacuum_plans, vacuums
from meta.store.deletion.vacuum_plans import DatasetPlan, VacuumPlan
from meta.store.deletion.vacuums import Orphans, Vacuum
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades
from meta.v1 import resources_pb2 as pb

# A query that began before it may still read the objects.
AGE_SECS_MIN = 3_600
# A hundred years.
AGE_SECS_MAX = 3_155_760_000


def vacuum_datasets(
    server: ServerParts, request: pb.VacuumDatasetsRequest
) -> pb.VacuumDatasetsResponse:
    """Plan or begin the vacuum of a page of datasets."""
    older_than = checks.count(
        request.older_than_secs, "older_than_secs", low=AGE_SECS_MIN, high=AGE_SECS_MAX
    )
    name = checks.filter_name(request, "dataset_name")
    after = checks.optional_uuid(request.after_dataset_id, "after_dataset_id")
    asked = "" if request.dry_run else request.vacuum_id
    vacuum_id = checks.optional_uuid(asked, "vacuum_id")
    if vacuum_id is None and not request.dry_run:
        raise InvalidArgument(
            "vacuum_id must not be empty: send a UUID of yours, the same if you repeat the call",
            field="vacuum_id",
        )
    grace_secs = server.settings.lifetimes.tombstone_grace

    def work(tx: Transaction) -> tuple[list[DatasetPlan], bool, int]:
        upgrades.require_finished(tx, "a vacuum")
        only = None if name is None else datasets.get(tx, name).key
        plan = VacuumPlan(older_than, grace_secs, vacuum_plans.key_of(tx, after), only)
        if vacuum_id is None:
            planned = vacuum_plans.read(tx, vacuum_plans.keys(tx, plan), plan)
        else:
            server_state.check_deletion_allowed(tx)
            planned = vacuums.start(tx, vacuum_id, plan)
        return planned, plan.has_more(planned), vacuums.janitor_seen_secs(tx)

    run = server.transactions.read if request.dry_run else server.transactions.write
    planned, has_more, seen_secs = run(work)
    return pb.VacuumDatasetsResponse(
        datasets=[filled(pb.DatasetVacuum, plan) for plan in planned],
        next_after_dataset_id=str(planned[-1].dataset_id) if has_more else "",
        janitor_seen_secs=seen_secs,
    )


def get_vacuum(server: ServerParts, request: pb.GetVacuumRequest) -> pb.GetVacuumResponse:
    """Read how far a vacuum has come."""
    vacuum_id = checks.uuid(request.vacuum_id, "vacuum_id")

    def work(tx: Transaction) -> pb.GetVacuumResponse:
        vacuum = vacuums.find(tx, vacuum_id)
        if vacuum is None:
            raise NotFound("there is no such vacuum", vacuum_id=vacuum_id)
        return pb.GetVacuumResponse(
            vacuum=_message(vacuum),
            deletion_held=server_state.read(tx).deletion_held,
            janitor_busy=vacuums.is_busy(tx),
            janitor_seen_secs=vacuums.janitor_seen_secs(tx),
        )

    return server.transactions.read(work)


def take_vacuums(server: ServerParts, request: pb.TakeVacuumsRequest) -> pb.TakeVacuumsResponse:
    """Hand the vacuums that are not finished to a janitor."""
    # Janitors ask every few seconds, and there are seldom any. While deletion is held, they wait.
    if not server.transactions.read(vacuums.has_open):
        return pb.TakeVacuumsResponse()
    return pb.TakeVacuumsResponse(vacuums=map(_message, server.transactions.write(vacuums.take)))


def finish_vacuum(server: ServerParts, request: pb.FinishVacuumRequest) -> pb.FinishVacuumResponse:
    """Note that a janitor has carried out a vacuum."""
    vacuum_id: UUID = checks.uuid(request.vacuum_id, "vacuum_id")
    orphans = Orphans(
        checks.count(request.orphans, "orphans"),
        checks.count(request.orphan_bytes, "orphan_bytes"),
        checks.count(request.orphans_left, "orphans_left"),
    )
    success = server.transactions.write(lambda tx: vacuums.finish(tx, vacuum_id, orphans))
    return pb.FinishVacuumResponse(success=success)


def _message(vacuum: Vacuum) -> pb.Vacuum:
    return filled(pb.Vacuum, vacuum)
