"""ResourcesService: the functions of its modules, each by the name of its RPC in lower case."""

import re
from collections.abc import Callable
from inspect import getmembers, isfunction
from typing import Any, cast

import grpc
from google.protobuf.message import Message

from meta.services.resources import dataset_numbers, groups, locks, resources, vacuums
from meta.services.server_parts import ServerParts
from meta.v1 import resources_pb2, resources_pb2_grpc

MODULES = (resources, dataset_numbers, groups, locks, vacuums)
RPCS = [rpc.name for rpc in resources_pb2.DESCRIPTOR.services_by_name["ResourcesService"].methods]


class ResourcesServicer:
    """ResourcesService as gRPC's generated code registers it; see docs/contract.md."""

    def __init__(self, server: ServerParts) -> None:
        functions = dict(member for module in MODULES for member in getmembers(module, isfunction))
        for rpc in RPCS:
            name = re.sub(r"\B(?=[A-Z])", "_", rpc).lower()
            setattr(self, rpc, _handler(functions[name], server))


def _handler(
    function: Callable[[ServerParts, Any], Message], server: ServerParts
) -> Callable[[Message, grpc.ServicerContext], Message]:
    def handle(request: Message, _context: grpc.ServicerContext) -> Message:
        return function(server, request)

    return handle


def add_to_server(parts: ServerParts, server: grpc.Server) -> None:
    """Register the service with a server."""
    resources_pb2_grpc.add_ResourcesServiceServicer_to_server(
        cast(resources_pb2_grpc.ResourcesServiceServicer, ResourcesServicer(parts)), server
    )
