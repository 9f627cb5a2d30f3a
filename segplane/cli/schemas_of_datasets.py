"""The schema that a dataset is bound to, as commands show it."""

from typing import TypeAlias

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb

Facts: TypeAlias = list[tuple[str, object]]


def text_of(client: MetaClient, settings: pb.DatasetSettings) -> str:
    """Return the schema that a dataset is bound to, and its version, as one short text."""
    binding = settings.binding
    request = catalog_pb2.GetSchemaRequest(id=binding.schema_id)
    schema = client.catalog.GetSchema(request).name
    is_newest = "" if binding.HasField("version") else ", the newest"
    return f"{schema} version {binding.version_in_force}{is_newest}"


def facts(client: MetaClient, settings: pb.DatasetSettings) -> Facts:
    """Return the schema for a person; nothing for a dataset without one."""
    if not settings.HasField("binding"):
        return []
    return [("schema", text_of(client, settings))]
