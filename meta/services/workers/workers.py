"""Workers that were seen, and settings of workers and of classes of workers."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks, worker_settings
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.workers import seen, settings
from meta.store.workers.settings import NamedSettings, WorkerSettings
from meta.v1 import operations_pb2 as pb

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
# Names of fields in the message, by those of the store.
_FIELDS = {"datasets" if name == "dataset_ids" else name: name for name in WorkerSettings.__slots__}


def list_workers(server: ServerParts, request: pb.ListWorkersRequest) -> pb.ListWorkersResponse:
    """One page of the workers that asked for their configuration."""
    after_id = checks.text(request.after_id, "after_id")
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    workers = server.transactions.read(lambda tx: seen.list_page(tx, after_id, limit))
    return pb.ListWorkersResponse(workers=[filled(pb.Worker, worker) for worker in workers])


def set_worker_settings(
    server: ServerParts, request: pb.SetWorkerSettingsRequest
) -> pb.SetWorkerSettingsResponse:
    """Change the settings of a worker or class."""
    name = checks.new_name(request.name)
    if "*" in name[:-1]:
        raise InvalidArgument(
            f"an asterisk stands at the end of a class alone: {name!r}", field="name"
        )
    given = worker_settings.checked(request.settings)
    removed = _removed(request, given)

    def work(tx: Transaction) -> WorkerSettings:
        _check_datasets(tx, given)
        return settings.change(tx, name, given, removed)

    after = server.transactions.write(work)
    return pb.SetWorkerSettingsResponse(settings=worker_settings.message(after))


def list_worker_settings(
    server: ServerParts, request: pb.ListWorkerSettingsRequest
) -> pb.ListWorkerSettingsResponse:
    """The settings of all names, or those that apply to one worker."""
    if not request.worker_id:
        entries = server.transactions.read(settings.list_all)
        return pb.ListWorkerSettingsResponse(named=map(_named, entries))
    worker_id = checks.text(request.worker_id, "worker_id")
    entries = server.transactions.read(lambda tx: settings.list_applying(tx, worker_id))
    return pb.ListWorkerSettingsResponse(
        named=map(_named, entries), in_force=worker_settings.message(settings.in_force(entries))
    )


def _removed(request: pb.SetWorkerSettingsRequest, given: WorkerSettings) -> list[str]:
    checks.at_most(request.removed, "removed", len(_FIELDS))
    for name in request.removed:
        if name not in _FIELDS:
            raise InvalidArgument(
                f"removed names no setting: {name!r}; they are {', '.join(_FIELDS)}",
                field="removed",
            )
        if _FIELDS[name] in given.given():
            raise InvalidArgument(f"{name} is set and removed", field="removed")
    return [_FIELDS[name] for name in request.removed]


def _check_datasets(tx: Transaction, given: WorkerSettings) -> None:
    """Raise NotFound for an id that is not a dataset's: nothing would be merged for it."""
    for dataset_id in given.dataset_ids or ():
        datasets.get(tx, UUID(dataset_id))


def _named(entry: NamedSettings) -> pb.NamedWorkerSettings:
    message = worker_settings.message(entry.settings)
    return filled(pb.NamedWorkerSettings, entry, settings=message)
