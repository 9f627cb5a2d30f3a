"""Datasets over HTTP: listed, created, shown, bound and deleted, by a client of the caller."""

from dataclasses import replace

from meta.client import MetaClient
from meta.errors import NotFound, RoleRefused
from meta.v1 import catalog_pb2, common_pb2, resources_pb2
from meta.v1 import operations_pb2 as ops
from segments.keys import merged_prefix
from segplane.gateway.http.refusals import CatalogConflict, QueryRefusal
from segplane.gateway.management.calls import dataset_of
from segplane.gateway.management.dataset_asks import (
    DatasetAsk,
    SchemaAsk,
    asked_dataset,
    asked_new_name,
    asked_schema,
    asked_to_keep_files,
)
from segplane.gateway.management.json_messages import Json
from segplane.gateway.management.rows import ManagementAsk, Reply
from segplane.read.views.view_sql import table_of


def create(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Create a dataset with the requested settings; of one that exists, add the missing ones.

    The status tells whether this request made it.

    Raises CatalogConflict if it has another schema or quota, QueryRefusal, MetaError.
    """
    asked = asked_dataset(ask.body)
    if group := ask.values.get("group"):
        asked = replace(asked, name=f"{group}/{asked.name}")
    # Read before anything is created, so that a misspelt schema leaves no dataset.
    binding = None if asked.schema is None else _binding(client, asked.schema)
    is_new = not _exists(client, asked.name)
    reply = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=asked.name))
    stored = _settings(client, reply.id)
    changes = ops.DatasetSettings(binding=binding, records_per_month=asked.records_per_month)
    has_other_schema = stored.settings.binding.schema_id and not _is_bound(stored, binding)
    if binding is not None and has_other_schema:
        raise CatalogConflict(
            f"dataset {asked.name!r} exists with another schema: PUT /v1/datasets/NAME/schema binds"
            " one"
        )
    if stored.settings.records_per_month and (
        asked.records_per_month not in (None, stored.settings.records_per_month)
    ):
        raise CatalogConflict(
            f"dataset {asked.name!r} exists with records_per_month"
            f" {stored.settings.records_per_month}: PATCH /v1/datasets/NAME changes it"
        )
    _change(client, reply.id, changes, stored.version)
    return Reply({"id": reply.id}, status=201 if is_new else 200)


def change(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Set the schema and the quota of a dataset, as far as they are given."""
    asked = asked_dataset(ask.body, "-")
    dataset = dataset_of(client, ask.values)
    return _changed(client, dataset.id, asked, ask)


def bind(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Bind a dataset to the schema that the body is; null unbinds it."""
    asked = DatasetAsk("-", asked_schema(ask.body))
    return _changed(client, dataset_of(client, ask.values).id, asked, ask)


def rename(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Give a dataset another name, or move it to another group; null is the default group."""
    if ask.versions:
        raise QueryRefusal("a change of name or group has no version: leave If-Match out")
    dataset = dataset_of(client, ask.values)
    reference = resources_pb2.ResourceRef(kind=resources_pb2.RESOURCE_KIND_DATASET, id=dataset.id)
    request = resources_pb2.GetResourceRequest(resource=reference)
    current = client.resources.GetResource(request).resource
    name = asked_new_name(ask.body, current.name, current.group)
    renaming = ops.RenameDatasetRequest(dataset_id=dataset.id, new_name=name)
    return Reply({"id": client.operations.RenameDataset(renaming).id})


def show(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a dataset: its columns as queries see them, schema and quota."""
    dataset = dataset_of(client, ask.values)
    stored = _settings(client, dataset.id)
    binding = stored.settings.binding
    table = table_of(client, dataset.id, dataset.name, is_complete=True, has_words=True)
    content: Json = {
        "id": dataset.id,
        "name": dataset.name,
        "schema": _schema(client, binding) if binding.schema_id else None,
        "records_per_month": stored.settings.records_per_month,
        "columns": [{"name": n, "type": type_} for n, type_ in table.columns.items()],
    }
    return Reply(content, stored.version)


def delete(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Delete a dataset, which can be undeleted for some days; its files may stay permanently."""
    keeps_files = asked_to_keep_files(ask.parameters.get("keep_files", ()))
    dataset = dataset_of(client, ask.values)
    request = catalog_pb2.DeleteDatasetRequest(id=dataset.id, keep_files=keeps_files)
    reply = client.catalog.DeleteDataset(request)
    undelete = f"segplane datasets delete --undo {dataset.id}"
    if keeps_files and reply.success and not reply.keeps_files:
        raise CatalogConflict(
            f"meta knows no keep_files and deletes the files in 7 days: run `{undelete}`, and"
            " upgrade it"
        )
    content: Json = {"id": dataset.id, "name": dataset.name, "undelete": undelete}
    return Reply(content | ({"kept_below": merged_prefix(dataset.id)} if reply.keeps_files else {}))


def _changed(client: MetaClient, dataset_id: str, asked: DatasetAsk, ask: ManagementAsk) -> Reply:
    binding = None if asked.schema is None else _binding(client, asked.schema)
    changes = ops.DatasetSettings(binding=binding, records_per_month=asked.records_per_month)
    _change(client, dataset_id, changes, ask.versions[0] if ask.versions else None)
    return Reply({"id": dataset_id})


def _exists(client: MetaClient, name: str) -> bool:
    try:
        dataset_of(client, {"name": name})
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
    schema = client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(name=ask.name))
    ask.binding.schema_id = schema.id
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


def _schema(client: MetaClient, binding: ops.SchemaBinding) -> Json:
    try:
        request = catalog_pb2.GetSchemaRequest(id=binding.schema_id)
        name: str | None = client.catalog.GetSchema(request).name
    except RoleRefused:
        # A caller that is limited to datasets reads no schemas.
        name = None
    return {
        "name": name,
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
