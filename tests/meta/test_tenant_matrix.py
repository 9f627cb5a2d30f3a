"""Each call of a tenant about another one's entries answers as for what nobody ever had.

The calls are those of `TENANT_ROWS`, their requests are made from the descriptors: a field that
names an entry is once another tenant's, and once an id or a name that was never used.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from meta.client import MetaClient, typed_error
from meta.config import Settings
from meta.errors import InvalidArgument, MetaError
from meta.limited_calls import TENANT_ROWS
from meta.v1 import catalog_pb2 as cat
from meta.v1 import ingest_token_pb2, operations_pb2
from meta.v1 import resources_pb2 as res
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.methods import METHODS
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.tenants import TwoTenants, guarded_for_tenants, two_tenants

CALLS = [m for m in METHODS if m.name in TENANT_ROWS.get(m.containing_service.name, ())]
KINDS = {
    res.RESOURCE_KIND_DATASET: "dataset",
    res.RESOURCE_KIND_GROUP: "group",
    res.RESOURCE_KIND_SCHEMA: "schema",
    res.RESOURCE_KIND_VIEW: "view",
    res.RESOURCE_KIND_PROJECTION: "projection",
    res.RESOURCE_KIND_INGEST_TOKEN: "token",
}
# The entry of a field that does not name its kind, by words of its call.
WORDS = ("IngestToken", "AccessToken", "Projection", "View", "Schema", "Group", "Pin", "Dataset")
NOUNS = {"IngestToken": "token", "AccessToken": "access", "Pin": "pin"}
FIELDS = ("dataset", "view", "projection", "schema", "token", "pin", "segment")
# Only a gateway makes these calls, by its own credential.
OF_GATEWAYS = frozenset({"GetDatasetTable", "PutTableObjects", "PutTableSnapshot", "HandOutTable"})
MASKED = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|secret|unused|\d+")


@pytest.fixture
def scene(meta_settings: Settings) -> Iterator[tuple[TwoTenants, dict[str, str]]]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as tenants:
        yield tenants, _filled(tenants)


def _filled(tenants: TwoTenants) -> dict[str, str]:
    """One entry of each kind in `payments`, all with the name `secret`, by their ids."""
    client, catalog = tenants.payments, CatalogDriver(tenants.payments)
    dataset = catalog.dataset("secret")
    (segment,) = Writer(tenants.guard.admin).save(segment_of(dataset))
    column = cat.CreateSchemaRequest(name="secret")
    column.columns.add(name="a", type=1)
    schema = client.catalog.CreateSchema(column).id
    view = client.catalog.CreateView(cat.CreateViewRequest(name="secret")).id
    text = cat.CreateProjectionRequest(name="secret", projection="project body")
    projection = client.catalog.CreateProjection(text).id
    request = ingest_token_pb2.CreateIngestTokenRequest(name="secret", dataset_name="secret")
    token = client.ingest_token.CreateIngestToken(request).token.id
    access = client.operations.CreateAccessToken(
        operations_pb2.CreateAccessTokenRequest(subject="secret", role="tenant-reader")
    ).token.id
    pin = str(uuid4())
    client.operations.PinVersion(
        operations_pb2.PinVersionRequest(pin_id=pin, owner="o", dataset_name="secret")
    )
    return {
        "dataset": dataset,
        "segment": segment,
        "schema": schema,
        "view": view,
        "projection": projection,
        "token": token,
        "access": access,
        "pin": pin,
        "group": str(uuid4()),
    }


def _noun(call_name: str, field_name: str) -> str:
    """The kind of entry that a field names, "" = none."""
    for noun in FIELDS:
        if field_name.startswith(noun):
            is_access = noun == "token" and "AccessToken" in call_name
            return "access" if is_access else noun
    if field_name in ("id", "name"):
        word = next((word for word in WORDS if word in call_name), "")
        return NOUNS.get(word, word.lower())
    return ""


def _fill(
    call: MethodDescriptor, message: Message, ids: Mapping[str, str], name: str, *, by_name: bool
) -> bool:
    """Name entries in the fields of a request; True if there is a field that names one."""
    is_named = False
    for field in message.DESCRIPTOR.fields:
        noun = _noun(call.name, field.name)
        is_id = field.name == "id" or field.name.endswith(("_id", "_ids"))
        if field.name == "resource":
            ref = message.resource  # type: ignore[attr-defined]
            ref.kind = res.RESOURCE_KIND_DATASET
            setattr(ref, "name" if by_name else "id", name if by_name else ids["dataset"])
            is_named = True
        elif field.name == "routing":
            message.routing.logs_dataset_id = ids["dataset"]  # type: ignore[attr-defined]
        elif (
            field.type != FieldDescriptor.TYPE_STRING
            or not noun
            or noun not in ids
            or (field.name in ("id", "name") and is_id == by_name and _has_both(message))
        ):
            continue
        elif is_id or "name" in field.name:
            value = ids[noun] if is_id else name
            target = getattr(message, field.name)
            if isinstance(target, str):
                setattr(message, field.name, value)
            else:
                target.append(value)
            is_named = True
    return is_named


def _has_both(message: Message) -> bool:
    return {"id", "name"} <= set(message.DESCRIPTOR.fields_by_name)


def _answer(client: MetaClient, call: MethodDescriptor, request: Message) -> tuple[str, str]:
    service = re.sub(r"(?<!^)(?=[A-Z])", "_", call.containing_service.name[: -len("Service")])
    send = getattr(getattr(client, service.lower()), call.name)
    try:
        replies = send(request, timeout=5)
        shown = str(next(replies) if call.server_streaming else replies)
    except (grpc.RpcError, MetaError) as error:
        refused = error if isinstance(error, MetaError) else typed_error(error)
        shown = f"{refused.message} {refused.metadata}"
        return refused.reason, MASKED.sub("*", shown)
    return "", MASKED.sub("*", shown)


@pytest.mark.parametrize("by_name", [False, True], ids=["id", "name"])
def test_entries_of_another_tenant_are_as_if_nobody_had_them(
    scene: tuple[TwoTenants, dict[str, str]], by_name: bool
) -> None:
    tenants, theirs = scene
    never = {noun: str(uuid4()) for noun in theirs}
    compared, different = set(), {}
    for call in CALLS:
        if call.name in OF_GATEWAYS or call.name.startswith("Create"):
            continue
        make = GetMessageClass(call.input_type)
        foreign, unknown = make(), make()
        is_named = _fill(call, foreign, theirs, "secret", by_name=by_name)
        _fill(call, unknown, never, "unused", by_name=by_name)
        if not is_named:
            continue
        compared.add(call.name)
        answers = [_answer(tenants.search, call, each) for each in (unknown, foreign)]
        if answers[0] != answers[1]:
            different[call.name] = answers

    assert different == {}
    assert len(compared) >= 30
    # Nothing of it has changed.
    for kind, noun in KINDS.items():
        if noun != "group":
            ref = res.ResourceRef(kind=kind, id=theirs[noun])
            resource = tenants.payments.resources.GetResource(res.GetResourceRequest(resource=ref))
            assert not resource.resource.HasField("deleted_at")


def test_lists_and_totals_of_a_tenant_hold_nothing_of_another(
    scene: tuple[TwoTenants, dict[str, str]],
) -> None:
    tenants, theirs = scene
    shown = []
    for call in CALLS:
        if call.name.startswith(("List", "Get", "Find", "Download")):
            request = GetMessageClass(call.input_type)()
            shown.append(str(_raw(tenants.search, call, request)))
    whole = "\n".join(shown)

    assert "secret" not in whole
    assert not [noun for noun, value in theirs.items() if noun != "group" and value in whole]


def _raw(client: MetaClient, call: MethodDescriptor, request: Message) -> object:
    service = re.sub(r"(?<!^)(?=[A-Z])", "_", call.containing_service.name[: -len("Service")])
    try:
        return getattr(getattr(client, service.lower()), call.name)(request, timeout=5)
    except MetaError as error:
        return error.message


def test_an_operator_joins_no_entries_of_two_tenants(
    scene: tuple[TwoTenants, dict[str, str]],
) -> None:
    tenants, theirs = scene
    view = tenants.search.catalog.CreateView(cat.CreateViewRequest(name="v")).id
    text = cat.CreateProjectionRequest(name="p", projection="project body")
    projection = tenants.search.catalog.CreateProjection(text).id
    link = cat.LinkViewDatasetProjectionRequest(
        dataset_id=theirs["dataset"], view_id=view, projection_id=projection
    )
    routing = ingest_token_pb2.UpdateIngestTokenRoutingRequest(token_id=theirs["token"])
    routing.routing.logs_dataset_id = CatalogDriver(tenants.search).dataset("web")

    bound = cat.UpdateViewRequest(id=view, schema_id=theirs["schema"])

    calls: tuple[tuple[Any, Message], ...] = (
        (tenants.guard.admin.catalog.LinkViewDatasetProjection, link),
        (tenants.guard.admin.ingest_token.UpdateIngestTokenRouting, routing),
        (tenants.guard.admin.catalog.UpdateView, bound),
    )
    for send, request in calls:
        with pytest.raises(InvalidArgument, match="different tenants"):
            send(request)
