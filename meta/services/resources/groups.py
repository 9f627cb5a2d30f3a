"""Groups of datasets: create, rename, delete."""

from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.catalog import groups
from meta.store.catalog.groups import DatasetGroup
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades
from meta.v1 import resources_pb2 as pb


def create_group(server: ServerParts, request: pb.CreateGroupRequest) -> pb.CreateGroupResponse:
    """Create a group; the same name again is the same group."""
    name = checks.new_group_name(request.name)

    def work(tx: Transaction) -> DatasetGroup:
        existing = groups.find(tx, name)
        if existing is not None:
            return existing
        # A meta of an earlier release takes datasets of groups for those of the default group.
        upgrades.require_finished(tx, "a group")
        return groups.create(tx, name)

    group = server.transactions.write(work)
    return pb.CreateGroupResponse(id=str(group.id), name=group.name)


def rename_group(server: ServerParts, request: pb.RenameGroupRequest) -> pb.RenameGroupResponse:
    """Rename a group; versions of before keep the former name."""
    identifier = checks.identifier(request)
    new_name = checks.new_group_name(request.new_name, "new_name")
    most = checks.NAME_CHARACTERS_MAX
    group = server.transactions.write(
        lambda tx: groups.rename(tx, identifier, new_name, characters_max=most)
    )
    return pb.RenameGroupResponse(id=str(group.id), name=group.name)


def delete_group(server: ServerParts, request: pb.DeleteGroupRequest) -> pb.DeleteGroupResponse:
    """Delete an empty group; without success if there is none."""
    identifier = checks.identifier(request)
    return pb.DeleteGroupResponse(
        success=server.transactions.write(lambda tx: groups.delete(tx, identifier))
    )
