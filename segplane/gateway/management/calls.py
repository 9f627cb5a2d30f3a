"""Calls of meta for the rows of the table: path, query and body become a request, a reply JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from segplane.gateway.http.bodies import limit_of
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.management.json_messages import Json, set_member, shown
from segplane.gateway.management.rows import (
    CONTEXT,
    VERSION,
    ManagementAsk,
    Reply,
    Row,
    list_of_page,
    method_of,
    taken_by,
)

ITEMS_MAX = 1_000
# Each item of a page may take calls of meta.
_ITEMS_DEFAULT = 100
_CURSOR_CHARACTERS_MAX = 4_096
_BOOLEANS = {"true": True, "false": False}


def call(client: MetaClient, row: Row, ask: ManagementAsk, members: Json) -> Reply:
    """Answer by a row, whose body has these members. Raises MetaError, QueryRefusal."""
    if row.run is not None:
        check_parameters(ask.parameters, row.queried())
        return row.run(client, ask)
    request = request_of(client, row, ask, members)
    module, _, name = row.rpc.partition(".")
    reply: Message = getattr(getattr(client, module), name)(request)
    if row.is_list:
        return Reply(_listed(request, reply))
    if row.method == "DELETE" and not getattr(reply, "success", True):
        raise NotThere("there is no such resource (NOT_FOUND)")
    message = getattr(reply, row.shown) if row.shown else reply
    version = getattr(reply, "version", "") or getattr(message, "version", "")
    content = {name: value for name, value in shown(message).items() if name != row.hidden}
    # A number is a version of the catalog.
    return Reply(content, version if isinstance(version, str) else "")


def request_of(client: MetaClient, row: Row, ask: ManagementAsk, members: Json) -> Message:
    """Return the request of a row's RPC. Raises QueryRefusal, and MetaError for its dataset."""
    request = GetMessageClass(method_of(row.rpc).input_type)()
    content = {**_queried(row, ask.parameters), **members}
    for name, value in content.items():
        described = taken_by(row)[name]
        assert described is not None
        is_inner = row.body and described.containing_type is not request.DESCRIPTOR
        target = getattr(request, row.body) if is_inner else request
        if row.body:
            getattr(request, row.body).SetInParent()
        if described.name == "set_labels":
            _set_labels(request, value)
        else:
            clears = row.method in ("PATCH", "PUT")
            set_member(target, described, value, name, clears=clears)
    if row.is_list:
        _set_page(request, ask.parameters)
    if ask.versions:
        _set_version(request, row, ask.versions)
    _set_path(client, request, row, ask.values)
    _set_order(request)
    return request


def dataset_of(client: MetaClient, values: Mapping[str, str]) -> catalog_pb2.GetDatasetResponse:
    """Read the dataset that a path names. Raises MetaError."""
    request = catalog_pb2.GetDatasetRequest()
    if "id" in values:
        request.id = values["id"]
    else:
        request.name = values["name"]
    return client.catalog.GetDataset(request)


def page_of(parameters: Mapping[str, Sequence[str]]) -> tuple[int, str]:
    """Return the limit and the cursor of a page. Raises QueryRefusal."""
    paging = {name: texts[-1] for name, texts in parameters.items() if name in ("limit", "after")}
    after = paging.get("after", "")
    if len(after) > _CURSOR_CHARACTERS_MAX:
        raise QueryRefusal("after is not a cursor: send `next` of the page before")
    return limit_of(paging, _ITEMS_DEFAULT, ITEMS_MAX, "after"), after


def check_parameters(parameters: Iterable[str], names: Iterable[str]) -> None:
    """Raise QueryRefusal for a parameter of the query that is not known."""
    names = list(names)
    for name in parameters:
        key = CONTEXT if name.startswith("context.") else name
        if key not in names:
            raise QueryRefusal(f"{name[:80]!r} is not known: send {' and '.join(names) or 'none'}")


def _queried(row: Row, parameters: Mapping[str, Sequence[str]]) -> Json:
    """Return the parameters of the query as members. Raises QueryRefusal."""
    check_parameters(parameters, row.queried())
    content: Json = {}
    for name, texts in parameters.items():
        if row.is_list and name in ("limit", "after"):
            continue
        key = "context_member" if name.startswith("context.") else name
        described = row.taken()[key]
        assert described is not None
        content[key] = _parameter(described, name, texts)
    return content


def _parameter(described: FieldDescriptor, name: str, texts: Sequence[str]) -> object:
    if described.is_repeated:
        return list(texts)
    if len(texts) > 1:
        raise QueryRefusal(f"{name[:80]} is there more than once")
    (text,) = texts
    if described.message_type is not None:
        # A filter by a label or by a member of the context.
        key, _, value = text.partition("=")
        if name.startswith("context."):
            key, value = name.removeprefix("context."), text
        return {"key": key, "value": value}
    if described.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return _BOOLEANS.get(text, text)
    is_number = text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal()
    is_text = described.cpp_type == FieldDescriptor.CPPTYPE_STRING
    return int(text) if is_number and len(text) < 21 and not is_text else text


def _set_labels(request: Any, value: object) -> None:
    if not isinstance(value, dict):
        raise QueryRefusal("labels is not an object")
    for key, text in value.items():
        if text is None:
            request.remove_labels.append(key)
        elif isinstance(text, str):
            request.set_labels[key] = text
        else:
            raise QueryRefusal(f"labels.{key[:80]} is not text")


def _set_page(request: Any, parameters: Mapping[str, Sequence[str]]) -> None:
    limit, after = page_of(parameters)
    fields = request.DESCRIPTOR.fields_by_name
    if by_id := _id_cursor(request):
        request.limit = limit
        if after and fields[by_id].cpp_type == FieldDescriptor.CPPTYPE_STRING:
            setattr(request, by_id, after)
        elif after:
            if not after.isascii() or not after.isdecimal() or len(after) > 18:
                raise QueryRefusal("after is not a cursor: send `next` of the page before")
            setattr(request, by_id, int(after))
    elif "after" in fields or "pagination" in fields:
        paging = request if "after" in fields else request.pagination
        paging.limit = limit
        if after:
            paging.after = after
    elif "limit" in fields:
        # The list has one page.
        request.limit = ITEMS_MAX


def _set_version(request: Any, row: Row, versions: Sequence[str]) -> None:
    if VERSION not in request.DESCRIPTOR.fields_by_name:
        raise QueryRefusal("this request has no version: leave If-Match out")
    request.expected_version = versions[row.part]


def _set_path(client: MetaClient, request: Any, row: Row, values: Mapping[str, str]) -> None:
    fields = request.DESCRIPTOR.fields_by_name
    if "resource" in fields:
        kind = fields["resource"].message_type.fields_by_name["kind"].enum_type
        request.resource.kind = kind.values_by_name[f"RESOURCE_KIND_{row.kind}"].number
        for name, value in values.items():
            setattr(request.resource, "name" if name == "name" else "id", value)
        return
    if "kind" in fields and row.kind:
        request.kind = fields["kind"].enum_type.values_by_name[f"RESOURCE_KIND_{row.kind}"].number
    for name, value in values.items():
        if name in fields:
            setattr(request, name, value)
    if not row.is_of_dataset():
        return
    if "dataset_id" in fields:
        request.dataset_id = values.get("id") or dataset_of(client, values).id
    if "dataset_name" in fields:
        request.dataset_name = values.get("name") or dataset_of(client, values).name


def _set_order(request: Any) -> None:
    """Order a list of resources by their creation, unless another one is sent or needed."""
    fields = request.DESCRIPTOR.fields_by_name
    of_names = {"name_from", "name_to", "group"} & set(fields)
    if "order" in fields and not request.order and not any(map(request.HasField, of_names)):
        created = fields["order"].enum_type.values_by_name["RESOURCE_ORDER_CREATED"]
        request.order = created.number


def _id_cursor(request: Message) -> str:
    """Return the field that takes the id of the last item of a page, "" if there is none."""
    fields = request.DESCRIPTOR.fields_by_name
    return next((name for name in ("before_id", "after_id") if name in fields), "")


def _listed(request: Any, reply: Any) -> Json:
    items = getattr(reply, list_of_page(reply.DESCRIPTOR).name)
    position = getattr(reply, "pagination", reply)
    following = getattr(position, "next_cursor", "") or None
    if _id_cursor(request) and len(items) == request.limit:
        following = str(items[-1].id)
    return {"items": [shown(item) for item in items], "next": following}
