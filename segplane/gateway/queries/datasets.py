"""Datasets over HTTP: create, show, bind and delete them, by a client of the caller."""

from collections.abc import Callable
from typing import Any, TypeVar

from meta.client import MetaClient
from meta.errors import (
    Code,
    InvalidArgument,
    MetaError,
    NotFound,
    OutcomeUnknown,
    QuotaExceeded,
    RoleRefused,
)
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops
from segments.keys import merged_prefix
from segplane.gateway.http.refusals import CatalogConflict, NotNow, NotThere, QueryRefusal
from segplane.gateway.queries.broker import failure_of
from segplane.gateway.queries.dataset_asks import DatasetAsk, SchemaAsk
from segplane.read.views.view_sql import table_of

_CONFLICTS = (Code.ALREADY_EXISTS, Code.ABORTED, Code.FAILED_PRECONDITION)
_RETRY_SECS = 2
Value = TypeVar("Value")
Shown = dict[str, object]


def create(ask: DatasetAsk, client: MetaClient) -> tuple[Shown, bool]:
    """Create a dataset with the requested settings; of one that exists, add the missing ones.

    Returns the dataset as it is shown, and whether this request made it.

    Raises CatalogConflict if it has another schema or quota, and MetaError.
    """
    # Read before anything is created, so that a misspelt schema leaves no dataset.
    binding = None if ask.schema is None else _binding(client, ask.schema)
    is_new = not _exists(client, ask.name)
    reply = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=ask.name))
    stored = _settings(client, reply.id)
    changes = ops.DatasetSettings(binding=binding, records_per_month=ask.records_per_month)
    has_other_schema = stored.settings.binding.schema_id and not _is_bound(stored, binding)
    if binding is not None and has_other_schema:
        raise CatalogConflict(
            f"dataset {ask.name!r} exists with another schema: PUT /v1/datasets/NAME/schema binds"
            " one"
        )
    if stored.settings.records_per_month and (
        ask.records_per_month not in (None, stored.settings.records_per_month)
    ):
        raise CatalogConflict(
            f"dataset {ask.name!r} exists with records_per_month"
            f" {stored.settings.records_per_month}: POST /v1/datasets/NAME changes it"
        )
    _change(client, reply.id, changes, stored.version)
    return show(ask.name, client), is_new


def change(ask: DatasetAsk, client: MetaClient) -> Shown:
    """Set the schema and the quota of a dataset, as far as they are given. Raises MetaError."""
    dataset = _dataset(client, ask.name)
    binding = None if ask.schema is None else _binding(client, ask.schema)
    changes = ops.DatasetSettings(binding=binding, records_per_month=ask.records_per_month)
    _change(client, dataset.id, changes, None)
    return show(ask.name, client)


def show(name: str, client: MetaClient) -> Shown:
    """Return a dataset: its columns as queries see them, schema and quota. Raises MetaError."""
    dataset = _dataset(client, name)
    settings = _settings(client, dataset.id).settings
    columns = table_of(client, dataset.id, name, is_complete=True, has_words=True).columns
    return {
        "id": dataset.id,
        "name": dataset.name,
        "schema": _schema(client, settings.binding) if settings.binding.schema_id else None,
        "records_per_month": settings.records_per_month,
        "columns": [{"name": n, "type": type_} for n, type_ in columns.items()],
    }


def delete(name: str, client: MetaClient, *, keeps_files: bool) -> Shown:
    """Delete a dataset, which can be undeleted for some days; its files may stay permanently.

    Raises MetaError.
    """
    dataset = _dataset(client, name)
    request = catalog_pb2.DeleteDatasetRequest(id=dataset.id, keep_files=keeps_files)
    reply = client.catalog.DeleteDataset(request)
    undelete = f"segplane datasets delete --undo {dataset.id}"
    shown: Shown = {"id": dataset.id, "name": dataset.name, "undelete": undelete}
    return shown | ({"kept_below": merged_prefix(dataset.id)} if reply.keeps_files else {})


def refused(read: Callable[[MetaClient], Value], client: MetaClient) -> Value:
    """Call meta; raises QueryRefusal with its message and its reason."""
    try:
        return read(client)
    except MetaError as error:
        raise _refusal(error) from error


def _refusal(error: MetaError) -> QueryRefusal:
    field = f"{error.field}: " if isinstance(error, InvalidArgument) and error.field else ""
    if field and error.message.startswith(field.removesuffix(": ")):
        field = ""
    blockers = error.metadata.get("blockers")
    text = f"{field}{error.message}{f': {blockers}' if blockers else ''} ({error.reason})"
    if isinstance(error, NotFound):
        return NotThere(text)
    if isinstance(error, OutcomeUnknown):
        return NotNow(f"whether the change was made is not known: {text}", "", _RETRY_SECS)
    if isinstance(error, QuotaExceeded) or error.code in _CONFLICTS:
        return CatalogConflict(text)
    return failure_of(error) or QueryRefusal(text)


def _dataset(client: MetaClient, name: str) -> catalog_pb2.GetDatasetResponse:
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))


def _exists(client: MetaClient, name: str) -> bool:
    try:
        _dataset(client, name)
    except NotFound:
        return False
    return True


def _settings(client: MetaClient, dataset_id: str) -> ops.GetDatasetSettingsResponse:
    request = ops.GetDatasetSettingsRequest(dataset_id=dataset_id)
    return client.operations.GetDatasetSettings(request)


def _change(
    client: MetaClient, dataset_id: str, changes: ops.DatasetSettings, expected: str | None
) -> None:
    if changes.HasField("binding") or changes.HasField("records_per_month"):
        request = ops.SetDatasetSettingsRequest(
            dataset_id=dataset_id, settings=changes, expected_version=expected
        )
        client.operations.SetDatasetSettings(request)


def _binding(client: MetaClient, ask: SchemaAsk) -> ops.SchemaBinding:
    if not ask.name:
        return ops.SchemaBinding()
    request = catalog_pb2.GetSchemaRequest(name=ask.name)
    ask.binding.schema_id = client.catalog.GetSchema(request).id
    return ask.binding


def _is_bound(stored: ops.GetDatasetSettingsResponse, binding: ops.SchemaBinding | None) -> bool:
    """True if a dataset is bound as a request asks for."""
    if binding is None:
        return False
    bound = stored.settings.binding

    def attributes(of: ops.SchemaBinding) -> list[bytes]:
        return sorted(a.SerializeToString(deterministic=True) for a in of.attributes)

    return (bound.schema_id, bound.HasField("version"), bound.version, attributes(bound)) == (
        binding.schema_id, binding.HasField("version"), binding.version, attributes(binding),
    )  # fmt: skip


def _schema(client: MetaClient, binding: ops.SchemaBinding) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": binding.schema_id,
        "version": binding.version_in_force,
        "follows_newest": not binding.HasField("version"),
        "attributes": {
            a.column: {
                "scope": common_pb2.AttributeScope.Name(a.scope).rpartition("_")[2].lower(),
                "attribute": a.attribute,
            }
            for a in binding.attributes
        },
    }
    try:
        request = catalog_pb2.GetSchemaRequest(id=binding.schema_id)
        return {"name": client.catalog.GetSchema(request).name, **shown}
    except RoleRefused:
        # A caller that is limited to datasets reads no schemas.
        return shown
