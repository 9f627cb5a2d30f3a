"""The stubs and the server declare the published contract, and add only beside it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from meta.v1 import (
    backups_pb2,
    catalog_pb2,
    common_pb2,
    costs_pb2,
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
from tests.support.meta.server import MetaServer

# Numbers below this belong to the contract's owner; what we add to its messages starts here.
ADDED_FROM = 100
OUR_SERVICES = {"OperationsService", "ResourcesService", "StatusService"}
# Numbers that the owner once used and removed.
HOLES = {
    "DownloadConfigResponse": 2,
    "RegisterForStreamRequest": 1,
    "UpdateDeletedOffsetRequest": 2,
    "FindSegmentsRequest": 2,
    "SegmentMergeTaskInfo": 3,
}
CONTRACT = Path(__file__).parent / "contract.json"
GENERATED = (
    backups_pb2,
    catalog_pb2,
    common_pb2,
    costs_pb2,
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


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """Facts of a field that the contract fixes; `type` of a message or enum is its bare name."""

    number: int
    type: str
    repeated: bool
    optional: bool
    oneof: str | None


@dataclass(frozen=True, slots=True)
class Surface:
    """Services with (request, response, streams) per RPC, messages, enums, reserved numbers."""

    packages: frozenset[str]
    services: dict[str, dict[str, tuple[str, str, bool]]]
    messages: dict[str, dict[str, FieldFacts]]
    enums: dict[str, dict[str, int]]
    reserved: dict[str, frozenset[int]]


@pytest.fixture(scope="session")
def published() -> Surface:
    """Read contract.json; it names no reserved numbers, and every RPC in it is unary."""
    text = json.loads(CONTRACT.read_text())
    return Surface(
        packages=frozenset({"meta.v1"}),
        services={
            service: {name: (types[0], types[1], False) for name, types in rpcs.items()}
            for service, rpcs in text["services"].items()
        },
        messages={
            message: {name: FieldFacts(**facts) for name, facts in fields.items()}
            for message, fields in text["messages"].items()
        },
        enums=text["enums"],
        reserved={},
    )


@pytest.fixture(scope="session")
def declared() -> Surface:
    """Read the descriptors in the committed stubs."""
    return surface_of(_proto(module.DESCRIPTOR) for module in GENERATED)


def test_the_copy_of_the_contract_is_whole(published: Surface) -> None:
    assert len(published.services) == 8
    assert sum(len(rpcs) for rpcs in published.services.values()) == 55
    assert len(published.messages) == 146
    assert len(published.enums) == 2


def test_everything_is_in_package_meta_v1(published: Surface, declared: Surface) -> None:
    assert declared.packages == published.packages


def test_services_are_the_published_ones_and_ours(published: Surface, declared: Surface) -> None:
    ours = declared.services.keys() - published.services.keys()

    assert {name: declared.services[name] for name in published.services} == published.services
    assert ours == OUR_SERVICES


def test_published_messages_keep_every_field(published: Surface, declared: Surface) -> None:
    kept = {
        message: {
            name: facts for name, facts in declared.messages[message].items() if name in fields
        }
        for message, fields in published.messages.items()
    }

    assert kept == published.messages


def test_fields_added_to_published_messages_start_at_100(
    published: Surface, declared: Surface
) -> None:
    misplaced = [
        f"{message}.{name} = {facts.number}"
        for message, fields in published.messages.items()
        for name, facts in declared.messages[message].items()
        if name not in fields and (facts.number < ADDED_FROM or facts.oneof is not None)
    ]

    assert misplaced == []


def test_published_enums_are_unchanged(published: Surface, declared: Surface) -> None:
    assert {name: declared.enums[name] for name in published.enums} == published.enums


def test_the_holes_of_the_contract_are_reserved(declared: Surface) -> None:
    assert {name: HOLES[name] in declared.reserved[name] for name in HOLES} == dict.fromkeys(
        HOLES, True
    )


def test_a_running_server_reflects_what_the_stubs_declare(
    meta_server: MetaServer, declared: Surface
) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        pool = DescriptorPool(database)
        served = [pool.FindServiceByName(name).file for name in database.get_services()]
        files = {file.name: file for one in served for file in (one, *one.dependencies)}

    ours = [_proto(file) for file in files.values() if file.package == "meta.v1"]
    assert surface_of(ours) == declared


def surface_of(files: Iterable[FileDescriptorProto]) -> Surface:
    """Bring files of one package into the contract's shape."""
    files = list(files)
    messages = [message for file in files for message in file.message_type]
    return Surface(
        packages=frozenset(file.package for file in files),
        services={
            service.name: {
                rpc.name: (
                    _bare(rpc.input_type),
                    _bare(rpc.output_type),
                    rpc.client_streaming or rpc.server_streaming,
                )
                for rpc in service.method
            }
            for file in files
            for service in file.service
        },
        messages={message.name: _fields(message) for message in messages},
        enums={
            enum.name: {value.name: value.number for value in enum.value}
            for file in files
            for enum in file.enum_type
        },
        reserved={
            message.name: frozenset(
                number for span in message.reserved_range for number in range(span.start, span.end)
            )
            for message in messages
        },
    )


def _proto(file: FileDescriptor) -> FileDescriptorProto:
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto


def _fields(message: DescriptorProto) -> dict[str, FieldFacts]:
    return {field.name: _facts(message, field) for field in message.field}


def _facts(message: DescriptorProto, field: FieldDescriptorProto) -> FieldFacts:
    in_oneof = field.HasField("oneof_index") and not field.proto3_optional
    scalar = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return FieldFacts(
        number=field.number,
        type=_bare(field.type_name) or scalar,
        repeated=field.label == FieldDescriptorProto.LABEL_REPEATED,
        optional=field.proto3_optional,
        oneof=message.oneof_decl[field.oneof_index].name if in_oneof else None,
    )


def _bare(name: str) -> str:
    return name.rpartition(".")[2]
