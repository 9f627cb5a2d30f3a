"""Every RPC of the served contract."""

from google.protobuf.descriptor import MethodDescriptor

from meta.v1 import (
    catalog_pb2,
    ingest_token_pb2,
    ingestion_pb2,
    janitor_pb2,
    merge_task_pb2,
    nursery_pb2,
    operations_pb2,
    resources_pb2,
    segment_deletion_pb2,
    segment_lookup_pb2,
    status_pb2,
)

FILES = (
    catalog_pb2,
    ingestion_pb2,
    ingest_token_pb2,
    nursery_pb2,
    merge_task_pb2,
    segment_deletion_pb2,
    segment_lookup_pb2,
    janitor_pb2,
    operations_pb2,
    resources_pb2,
    status_pb2,
)
METHODS: tuple[MethodDescriptor, ...] = tuple(
    method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
