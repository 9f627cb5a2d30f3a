"""Groups of datasets, as meta lists them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import resources_pb2 as pb

_PAGE_MAX = 1_000
_NAME_CHARACTERS_MAX = 255
Item = TypeVar("Item")


def exists(client: MetaClient, name: str) -> bool:
    """Return whether there is a group of this name. Raises MetaError."""
    if not 1 <= len(name) <= _NAME_CHARACTERS_MAX:
        return False
    # A range of names: no call is refused for one that does not exist.
    request = pb.ListResourcesRequest(kind=pb.RESOURCE_KIND_GROUP, name_from=name, limit=1)
    try:
        return any(item.name == name for item in client.resources.ListResources(request).items)
    except InvalidArgument:
        # No group can have the name.
        return False


def page(client: MetaClient, after: str, limit: int) -> tuple[list[str], str]:
    """Read some names of groups in their order, and the cursor of the next page or "".

    Raises MetaError.
    """
    items, after = _page(client, after, limit)
    return [item.name for item in items], after


def dataset_names(client: MetaClient, group: str, after: str, limit: int) -> tuple[list[str], str]:
    """Read some names of datasets in a group, "" = the default one, and the cursor of the next.

    Raises MetaError.
    """
    items, after = _datasets(client, group, after, limit)
    return [item.name for item in items], after


def all_dataset_names(client: MetaClient, group: str) -> Iterator[str]:
    """Read the names of all datasets in a group, "" = the default one. Raises MetaError."""
    return (dataset.name for dataset in all_datasets(client, group))


def all_datasets(client: MetaClient, group: str) -> Iterator[pb.Resource]:
    """Read all datasets in a group by name, "" = the default one. Raises MetaError."""
    return _every(lambda after: _datasets(client, group, after, _PAGE_MAX))


def all_groups(client: MetaClient) -> Iterator[pb.Resource]:
    """Read all groups by name. Raises MetaError."""
    return _every(lambda after: _page(client, after, _PAGE_MAX))


def names(client: MetaClient) -> Iterator[str]:
    """Read the names of all groups in their order. Raises MetaError."""
    return (group.name for group in all_groups(client))


def _datasets(
    client: MetaClient, group: str, after: str, limit: int
) -> tuple[Sequence[pb.Resource], str]:
    request = pb.ListResourcesRequest(
        kind=pb.RESOURCE_KIND_DATASET, group=group, limit=limit, after=after
    )
    reply = client.resources.ListResources(request)
    return reply.items, reply.next_cursor


def _page(client: MetaClient, after: str, limit: int) -> tuple[Sequence[pb.Resource], str]:
    request = pb.ListResourcesRequest(kind=pb.RESOURCE_KIND_GROUP, limit=limit, after=after)
    reply = client.resources.ListResources(request)
    return reply.items, reply.next_cursor


def _every(page_after: Callable[[str], tuple[Sequence[Item], str]]) -> Iterator[Item]:
    after = ""
    while True:
        some, after = page_after(after)
        yield from some
        if not after:
            return
