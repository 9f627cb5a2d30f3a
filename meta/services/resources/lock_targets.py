"""Resources that a request changes: functions of the rows in the table of calls and locks."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from uuid import UUID

from meta.services.messages import checks
from meta.store.catalog import datasets, groups, resources
from meta.store.catalog.named_entries import PROJECTIONS, VIEWS, NamedEntries
from meta.store.catalog.resources import ResourceKind
from meta.store.catalog.schemas import SCHEMAS
from meta.store.engine.pool import Transaction
from meta.store.locks import locked_through
from meta.v1 import operations_pb2
from segments.keys import QuarantineKey, parse_key

Ids: TypeAlias = set[UUID]
Finder: TypeAlias = Callable[[Transaction, Any], Ids]
Targets: TypeAlias = Mapping[ResourceKind, Ids]

_ENTRIES: Mapping[ResourceKind, NamedEntries[Any]] = {
    ResourceKind.SCHEMA: SCHEMAS,
    ResourceKind.VIEW: VIEWS,
    ResourceKind.PROJECTION: PROJECTIONS,
}


def field(name: str) -> Finder:
    """The resource whose id is in a field of the request."""

    def find(_: Transaction, request: Any) -> Ids:
        return {checks.uuid(getattr(request, name), name)}

    return find


def named(kind: ResourceKind) -> Finder:
    """The schema, view or projection that the request names by id or name."""

    def find(tx: Transaction, request: Any) -> Ids:
        entry = _ENTRIES[kind].find(tx, checks.identifier(request))
        return set() if entry is None else {entry.id}

    return find


def referred(kind: ResourceKind) -> Finder:
    """The resource that the request refers to, if it is of a kind."""

    def find(tx: Transaction, request: Any) -> Ids:
        if request.resource.kind != kind:
            return set()
        return {resources.id_of(tx, kind, checks.identifier(request.resource))}

    return find


def group_named(tx: Transaction, request: Any) -> Ids:
    """The group that the request names by id or name."""
    group = groups.find(tx, checks.identifier(request))
    return set() if group is None else {group.id}


def dataset_named(tx: Transaction, request: Any) -> Ids:
    """The dataset that the request names by id or name."""
    dataset = datasets.find_either(tx, checks.identifier(request))
    return set() if dataset is None else {dataset.id}


def dataset_braked(tx: Transaction, request: Any) -> Ids:
    """The dataset whose brake the request releases, if it is one."""
    dataset = datasets.find_by_name(tx, request.dataset_name) if request.dataset_name else None
    return set() if dataset is None else {dataset.id}


def dataset_moved(_: Transaction, request: Any) -> Ids:
    """The dataset that the request moves to another store, if it does."""
    return {checks.uuid(request.dataset_id, "dataset_id")} if request.HasField("store") else set()


def dataset_moved_on(tx: Transaction, request: Any) -> Ids:
    """The dataset of a move to another store that the request resumes."""
    if request.state != operations_pb2.REWRITE_JOB_STATE_RUNNING:
        return set()
    return locked_through.datasets_of_move(tx, checks.uuid(request.id, "id"))


def bound_datasets(tx: Transaction, request: Any) -> Ids:
    """The datasets that are bound to the schema of the request."""
    ids = named(ResourceKind.SCHEMA)(tx, request)
    return _all(locked_through.datasets_of_schema(tx, schema_id) for schema_id in ids)


def datasets_unbound(tx: Transaction, request: Any) -> Ids:
    """The datasets whose columns go, or get other names, with the schema of the request."""
    changed = (*request.remove_columns, *request.rename_columns)
    return bound_datasets(tx, request) if changed else set()


def datasets_through(owner: str, find: Finder) -> Finder:
    """The datasets that the links of a view or projection read."""
    return _linked(owner, find, "dataset")


def views_through(owner: str, find: Finder) -> Finder:
    """The views that have links with a dataset or projection."""
    return _linked(owner, find, "view")


def segment_datasets(tx: Transaction, request: Any) -> Ids:
    """The dataset of the segment in the request."""
    segment_id = checks.uuid(request.segment_id, "segment_id")
    return locked_through.datasets_of_segment(tx, segment_id)


def skipped_datasets(tx: Transaction, request: Any) -> Ids:
    """The datasets that have records in the baby segment that is skipped."""
    stream_id = checks.uuid(request.stream_id, "stream_id")
    return locked_through.datasets_of_baby(tx, stream_id, request.offset)


def payload_datasets(tx: Transaction, request: Any) -> Ids:
    """The datasets that the dropped payload was sent to, and the one that the request names."""
    key = parse_key(request.object_key)
    given = checks.optional_uuid(request.dataset_id, "dataset_id")
    ids = locked_through.datasets_of_payload(tx, key) if isinstance(key, QuarantineKey) else set()
    return ids if given is None else ids | {given}


def _linked(owner: str, find: Finder, other: str) -> Finder:
    def find_linked(tx: Transaction, request: Any) -> Ids:
        return _all(locked_through.linked(tx, owner, id_, other) for id_ in find(tx, request))

    return find_linked


def _all(parts: Any) -> Ids:
    return {resource_id for part in parts for resource_id in part}
