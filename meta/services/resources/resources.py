"""Notes, labels and contexts of resources: read, change, list."""

from collections.abc import Mapping

from meta import access
from meta.errors import InvalidArgument, RoleRefused
from meta.roles import KEEPERS
from meta.services.messages import checks
from meta.services.messages.convert import REPLY_BYTES_MAX, time_text
from meta.services.resources import list_requests
from meta.services.server_parts import ServerParts
from meta.store.catalog import resource_contexts, resource_pages, resources
from meta.store.catalog.resource_contexts import KEY_BYTES_MAX, VALUE_BYTES_MAX
from meta.store.catalog.resources import (
    LABELS_MAX,
    CarePatch,
    LockFacts,
    Resource,
    ResourceKind,
)
from meta.v1 import resources_pb2

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
_AUTHORS = ("created_by", "updated_by", "deleted_by")


def get_resource(
    server: ServerParts,
    request: resources_pb2.GetResourceRequest,
) -> resources_pb2.GetResourceResponse:
    """Read a resource."""
    kind = checked_kind(request.resource.kind, "resource.kind")
    identifier = checks.identifier(request.resource)
    resource = server.transactions.read(lambda tx: resources.get(tx, kind, identifier))
    return resources_pb2.GetResourceResponse(resource=message(resource))


def update_resource(
    server: ServerParts,
    request: resources_pb2.UpdateResourceRequest,
) -> resources_pb2.UpdateResourceResponse:
    """Change the given parts of a resource."""
    kind = checked_kind(request.resource.kind, "resource.kind")
    if request.HasField("title") and kind is not ResourceKind.DATASET:
        raise InvalidArgument(f"a {kind.noun} has no title", field="title")
    identifier, patch = checks.identifier(request.resource), _patch(request)
    expected = checks.filter_name(request, "expected_version")
    resource = server.transactions.write(
        lambda tx: resources.change(tx, kind, identifier, patch, expected)
    )
    return resources_pb2.UpdateResourceResponse(resource=message(resource))


def list_resources(
    server: ServerParts,
    request: resources_pb2.ListResourcesRequest,
) -> resources_pb2.ListResourcesResponse:
    """Page through the resources of a kind."""
    query = list_requests.query(request, checked_kind(request.kind, "kind"))
    after = list_requests.position(request.after, query)
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    page = server.transactions.read(
        lambda tx: resource_pages.read(tx, query, after, limit, REPLY_BYTES_MAX)
    )
    return resources_pb2.ListResourcesResponse(
        items=[message(resource) for resource in page.items],
        next_cursor=list_requests.cursor(page.items[-1], query) if page.has_next else "",
    )


def message(resource: Resource) -> resources_pb2.Resource:
    """A resource as a message; its authors for those who keep the catalog."""
    is_keeper = access.current.get().role in KEEPERS
    authors = {name: getattr(resource, name) for name in _AUTHORS if is_keeper}
    is_live = resource.deleted_at is None
    return resources_pb2.Resource(
        kind=resources_pb2.ResourceKind.ValueType(resource.kind),
        id=str(resource.id),
        name=resource.name,
        state=(
            resources_pb2.RESOURCE_STATE_LIVE if is_live else resources_pb2.RESOURCE_STATE_DELETED
        ),
        created_at=time_text(resource.created_at),
        updated_at=time_text(resource.changed_at),
        deleted_at=None if is_live else time_text(resource.deleted_at),
        note=resource.care.note,
        context=resource.care.context,
        labels=resource.care.labels,
        version=resource.version,
        title=resource.care.title,
        group_id=None if resource.group_id is None else str(resource.group_id),
        group=resource.group,
        **authors,
        **_lock(resource.lock),
    )


def _lock(lock: LockFacts | None) -> dict[str, str]:
    if lock is None:
        return {}
    ends = {} if lock.ends_at is None else {"lock_ends_at": time_text(lock.ends_at)}
    return {
        "locked_at": time_text(lock.locked_at),
        "locked_by": access.shown_subject(lock.locked_by),
        "lock_reason": lock.reason,
        **ends,
    }


def checked_kind(number: int, field: str) -> ResourceKind:
    """The kind of the resources of a request, which the caller may see. Raises RoleRefused."""
    try:
        kind = ResourceKind(number)
    except ValueError:
        raise InvalidArgument(f"{field} is {number}, which is not a kind", field=field) from None
    principal = access.current.get()
    if kind is ResourceKind.INGEST_TOKEN and principal.role not in KEEPERS:
        raise RoleRefused(f"the role {principal.role.value} may not read ingest tokens")
    is_scoped = kind in (ResourceKind.DATASET, ResourceKind.GROUP)
    if not is_scoped and principal.scope.dataset_ids is not None:
        raise RoleRefused(f"the credential is limited to datasets, and may read no {kind.noun}")
    return kind


def _patch(request: resources_pb2.UpdateResourceRequest) -> CarePatch:
    texts: dict[str, str | None] = {}
    if request.HasField("note"):
        texts["note"] = checks.text(request.note, "note", lines=True) or None
    if request.HasField("title"):
        most = checks.NAME_CHARACTERS_MAX
        texts["title"] = checks.text(request.title, "title", characters_max=most) or None
    if request.HasField("context"):
        texts["context"] = _context(request.context) if request.context else None
    checks.at_most(request.set_labels, "set_labels", LABELS_MAX)
    checks.at_most(request.remove_labels, "remove_labels", LABELS_MAX)
    removed = frozenset(label_key(key, "remove_labels") for key in request.remove_labels)
    for key in removed:
        if key in request.set_labels:
            raise InvalidArgument(f"label {key!r} is both set and removed", field="remove_labels")
    return CarePatch(texts, _labels(request.set_labels), removed)


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {label_key(k, "set_labels"): label_value(v, "set_labels") for k, v in labels.items()}


def label_key(key: str, field: str) -> str:
    """A key of a label: without an equals sign, which ends it in filters, or blanks at its ends."""
    if not key:
        raise InvalidArgument(f"{field} has an empty key", field=field)
    if len(key.encode()) > KEY_BYTES_MAX:
        raise InvalidArgument(
            f"{field} has a key of {len(key.encode())} bytes, more than {KEY_BYTES_MAX}",
            field=field,
        )
    checks.new_name(key, field)
    if "=" in key:
        raise InvalidArgument(f"{field} has the key {key!r} with an equals sign", field=field)
    return key


def label_value(value: str, field: str) -> str:
    """A value of a label."""
    if len(value.encode()) > VALUE_BYTES_MAX:
        raise InvalidArgument(
            f"{field} has a value of {len(value.encode())} bytes, more than {VALUE_BYTES_MAX}",
            field=field,
        )
    return checks.text(value, field)


def _context(text: str) -> str:
    try:
        resource_contexts.parse(text)
    except ValueError as error:
        raise InvalidArgument(f"context {error}", field="context") from None
    return text
