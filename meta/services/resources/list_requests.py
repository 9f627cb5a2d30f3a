"""Requests for lists of resources: a filter, an order and a cursor that is bound to both."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks, cursors
from meta.store.catalog.resource_contexts import KEY_BYTES_MAX, VALUE_BYTES_MAX
from meta.store.catalog.resource_pages import (
    MemberFilter,
    NameRange,
    ResourceOrder,
    ResourcePosition,
    ResourceQuery,
)
from meta.store.catalog.resources import LabelSource, Resource, ResourceKind
from meta.v1 import resources_pb2 as pb

_ORDERS = {
    pb.RESOURCE_ORDER_UNSPECIFIED: ResourceOrder.NAME,
    pb.RESOURCE_ORDER_NAME: ResourceOrder.NAME,
    pb.RESOURCE_ORDER_CREATED: ResourceOrder.CREATED,
    pb.RESOURCE_ORDER_CHANGED: ResourceOrder.CHANGED,
}
_FILTERS = "label, context_member, state, group, or name_from and name_to"
_ID_BYTES = 16


def query(request: pb.ListResourcesRequest, kind: ResourceKind) -> ResourceQuery:
    """The list that is asked for. Raises InvalidArgument for one that no index has."""
    order = _ORDERS.get(request.order)
    if order is None:
        raise InvalidArgument(f"order is {request.order}, which is not an order", field="order")
    filters = [name for name in ("label", "context_member") if request.HasField(name)]
    filters += ["state"] if request.state else []
    bounds = [name for name in ("name_from", "name_to") if request.HasField(name)]
    filters += bounds[:1]
    group = checks.text(request.group, "group") if request.HasField("group") else None
    filters += ["group"] if group is not None else []
    if len(filters) > 1:
        raise InvalidArgument(
            f"{filters[0]} and {filters[1]} cannot be combined; a list has one filter: {_FILTERS}",
            field=filters[1],
        )
    if group is not None and kind is not ResourceKind.DATASET:
        raise InvalidArgument("only datasets are in groups", field="group")
    if (bounds or group is not None) and order is not ResourceOrder.NAME:
        raise InvalidArgument(
            f"{filters[0]} goes with the order NAME only; the orders CREATED and CHANGED go with"
            " label, context_member or state",
            field="order",
        )
    return ResourceQuery(
        kind,
        is_live=_is_live(request.state),
        members=_members(request),
        names=NameRange(*(checks.filter_name(request, name) for name in ("name_from", "name_to"))),
        order=order,
        is_descending=request.descending,
        group=group,
    )


def _is_live(state: int) -> bool:
    if state not in pb.ResourceState.values():
        raise InvalidArgument(f"state is {state}, which is not a state", field="state")
    return state != pb.RESOURCE_STATE_DELETED


def _members(request: pb.ListResourcesRequest) -> MemberFilter | None:
    if request.HasField("label"):
        return _member(request.label, LabelSource.LABEL, "label")
    if request.HasField("context_member"):
        return _member(request.context_member, LabelSource.CONTEXT, "context_member")
    return None


def _member(member: pb.ResourceMember, source: LabelSource, field: str) -> MemberFilter:
    bounds = {"key": (member.key, KEY_BYTES_MAX), "value": (member.value, VALUE_BYTES_MAX)}
    for part, (value, most) in bounds.items():
        size = len(value.encode())
        if size > most:
            raise InvalidArgument(
                f"{field}.{part} has {size} bytes, more than {most}", field=f"{field}.{part}"
            )
    checks.some(member.key, f"{field}.key")
    if "\0" in member.key or "\0" in member.value:
        raise InvalidArgument(f"{field} holds a control character", field=field)
    return MemberFilter(source, member.key, member.value)


def cursor(last: Resource, query: ResourceQuery) -> str:
    """The cursor of the page after a resource."""
    raw = last.id.bytes + query.order.place(last).encode()
    return cursors.encode(raw, _bound_to(raw, query))


def position(after: str, query: ResourceQuery) -> ResourcePosition | None:
    """The position that a cursor of this list is of. Raises CursorInvalid."""
    if not after:
        return None
    raw = cursors.decode(after, None, lambda raw: _bound_to(raw, query), "after")
    return ResourcePosition(raw[_ID_BYTES:].decode(), UUID(bytes=raw[:_ID_BYTES]))


def _bound_to(raw: bytes, query: ResourceQuery) -> bytes:
    return repr((raw.hex(), "ListResources", query)).encode()
