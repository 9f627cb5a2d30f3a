"""segplane groups: groups of datasets."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.messages import MetaClient, resources_pb2
from segplane.cli.nouns import Noun
from segplane.cli.output import Answer, Fact
from segplane.cli.parameters import Positional

if TYPE_CHECKING:
    from google.protobuf.message import Message


Group = Annotated[str, Positional(help="The group.", metavar="NAME", names_of="groups")]

groups: "Noun[resources_pb2.Resource]" = Noun(
    "groups",
    {"name": "name", "id": "id", "created": "created_at"},
    lambda group: _shown(group),
    sample="shop",
)
app = groups.app


@groups.command("create", "{}")
def create(client: MetaClient, name: Group) -> Answer:
    """Create a group of datasets, which are then called group/name; the same name again is fine."""
    reply = client.resources.CreateGroup(resources_pb2.CreateGroupRequest(name=name))
    return Answer(reply, [reply.id])


@groups.command("rename", "{} store")
def rename(client: MetaClient, name: Group, new_name: str) -> Answer:
    """Rename a group; its datasets stay, and older versions keep the old name.

    Options:
        new_name: The new name.
    """
    request = resources_pb2.RenameGroupRequest(name=name, new_name=new_name)
    reply = client.resources.RenameGroup(request)
    return Answer(reply, [reply.name])


@groups.lists
def list_(client: MetaClient) -> "Iterable[resources_pb2.Resource]":
    """List the groups by name."""
    from segplane.read.groups import all_groups

    return all_groups(client)


@groups.shows
def show(client: MetaClient, name: Group) -> "resources_pb2.Resource":
    """Show a group."""
    resource = resources_pb2.ResourceRef(kind=resources_pb2.RESOURCE_KIND_GROUP, name=name)
    request = resources_pb2.GetResourceRequest(resource=resource)
    return client.resources.GetResource(request).resource


@groups.deletes
def delete(client: MetaClient, name: Group) -> "Message":
    """Delete a group without datasets; one of a deleted dataset waits until that is deleted."""
    return client.resources.DeleteGroup(resources_pb2.DeleteGroupRequest(name=name))


def _shown(group: "resources_pb2.Resource") -> Iterator[Fact]:
    for name in ("name", "id", "created_at", "created_by", "updated_at", "updated_by"):
        if value := getattr(group, name):
            yield name.replace("_", " "), value
