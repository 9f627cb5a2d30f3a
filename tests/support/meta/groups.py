"""Groups of datasets, a call a line."""

from meta.client import MetaClient
from meta.v1 import resources_pb2 as pb


def create_group(client: MetaClient, name: str) -> str:
    """Create a group; answers its id."""
    return client.resources.CreateGroup(pb.CreateGroupRequest(name=name)).id


def rename_group(client: MetaClient, name: str, new_name: str) -> str:
    request = pb.RenameGroupRequest(name=name, new_name=new_name)
    return client.resources.RenameGroup(request).name


def delete_group(client: MetaClient, name: str) -> bool:
    return client.resources.DeleteGroup(pb.DeleteGroupRequest(name=name)).success
