"""OperationsService: the functions of its modules, each by the name of its RPC in lower case."""

import re
from collections.abc import Callable
from functools import partial
from inspect import getmembers, iscoroutinefunction, isfunction
from typing import Any, cast

import grpc

from meta.services.access import access_tokens, audit_log, server_state
from meta.services.catalog import dataset_settings, datasets
from meta.services.checks import consistency, object_checks, repairs
from meta.services.damage import damage, quarantine
from meta.services.deletion import objects
from meta.services.iceberg import tables
from meta.services.lookup import changes, unmerged_babies
from meta.services.merging import exclusions, merge_plan
from meta.services.pins import pins
from meta.services.registration import deduplication, registrations
from meta.services.rewrites import rewrite_jobs
from meta.services.segments import unread_segments
from meta.services.server_parts import ServerParts
from meta.services.streams import nursery_shards, stream_offsets
from meta.services.workers import workers
from meta.v1 import operations_pb2, operations_pb2_grpc

MODULES = (
    access_tokens,
    audit_log,
    server_state,
    dataset_settings,
    datasets,
    consistency,
    object_checks,
    repairs,
    damage,
    quarantine,
    objects,
    tables,
    changes,
    unmerged_babies,
    exclusions,
    merge_plan,
    pins,
    deduplication,
    registrations,
    rewrite_jobs,
    unread_segments,
    nursery_shards,
    stream_offsets,
    workers,
)
RPCS = [rpc.name for rpc in operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].methods]


class OperationsServicer:
    """OperationsService as gRPC's generated code registers it; see docs/contract.md."""

    def __init__(self, server: ServerParts) -> None:
        functions = dict(member for module in MODULES for member in getmembers(module, isfunction))
        for rpc in RPCS:
            name = re.sub(r"\B(?=[A-Z])", "_", rpc).lower()
            setattr(self, rpc, _without_context(partial(functions[name], server)))


def _without_context(call: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    """Return a handler as gRPC calls it, a coroutine if the call is one."""
    if not iscoroutinefunction(call):
        return lambda request, _: call(request)

    async def awaited(request: Any, _: object) -> Any:
        return await call(request)

    return awaited


def add_to_server(parts: ServerParts, server: grpc.Server) -> None:
    """Register the service with a server."""
    servicer = cast(operations_pb2_grpc.OperationsServiceServicer, OperationsServicer(parts))
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(servicer, server)
