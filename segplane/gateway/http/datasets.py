"""Datasets of groups, as paths name them."""

from collections.abc import Mapping

from meta.client import MetaClient
from meta.v1 import resources_pb2
from segplane.gateway.http.refusals import NotThere


def check_group(client: MetaClient, values: Mapping[str, str]) -> None:
    """Raise NotThere if the dataset of a path is of no such group.

    A dataset of the default group may have a name with a slash, from an earlier release.
    """
    if "group" not in values or "name" not in values:
        return
    name = values["name"]
    kind = resources_pb2.RESOURCE_KIND_DATASET
    request = resources_pb2.GetResourceRequest(
        resource=resources_pb2.ResourceRef(kind=kind, name=name)
    )
    if client.resources.GetResource(request).resource.group != values["group"]:
        raise NotThere(f"there is no dataset {name[:80]!r} of a group (NOT_FOUND)")
