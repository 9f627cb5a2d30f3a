"""OperationsService: the functions that each package exports, by the name of their RPC."""

from types import MethodType
from typing import cast

import grpc

from meta.services import (
    access,
    catalog,
    checks,
    damage,
    deletion,
    iceberg,
    lookup,
    merging,
    pins,
    registration,
    rewrites,
    segments,
    streams,
    workers,
)
from meta.services.server_parts import Operations, ServerParts
from meta.v1 import operations_pb2_grpc

PACKAGES: tuple[Operations, ...] = (
    access.OPERATIONS,
    catalog.OPERATIONS,
    checks.OPERATIONS,
    damage.OPERATIONS,
    deletion.OPERATIONS,
    iceberg.OPERATIONS,
    lookup.OPERATIONS,
    merging.OPERATIONS,
    pins.OPERATIONS,
    registration.OPERATIONS,
    rewrites.OPERATIONS,
    segments.OPERATIONS,
    streams.OPERATIONS,
    workers.OPERATIONS,
)


class OperationsServicer:
    """OperationsService as gRPC's generated code registers it; see docs/contract.md."""

    def __init__(self, server: ServerParts) -> None:
        for operations in PACKAGES:
            for name, function in operations.items():
                setattr(self, name, MethodType(function, server))


def add_to_server(parts: ServerParts, server: grpc.Server) -> None:
    """Register the service with a server."""
    servicer = cast(operations_pb2_grpc.OperationsServiceServicer, OperationsServicer(parts))
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(servicer, server)
