"""segplane datasets bind and unbind: a schema whose columns are typed columns of a dataset."""

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from kql.types import TYPES
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli import nonconforming_records, schemas_of_datasets
from segplane.cli.commands.dataset_settings import Name
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.entry_changes import ExpectedVersion
from segplane.cli.nonconforming_records import Nonconforming
from segplane.cli.output import AsJson, print_json, print_table

_MAPPED = re.compile(r"(?P<column>[^:]+):(?P<scope>record|resource|scope):(?P<attribute>.+)")


def bind(
    name: Name,
    schema: Annotated[str, typer.Option(help="Name of the schema.")],
    schema_version: Annotated[
        int | None,
        typer.Option(
            min=1, help="Version of the schema; without it the dataset follows the newest."
        ),
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:SCOPE:ATTRIBUTE",
            help="The attribute that a column reads, such as host:resource:host.name; SCOPE is"
            " record, resource or scope. Without it, the record's attribute of the column's name.",
        ),
    ] = None,
    nonconforming: Nonconforming = None,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Make every column of a schema a typed column of the dataset.

    Records that are merged from now on have them. Older segments have nulls permanently. A value
    that does not fit its column's type is null there and stays in the attributes, unless
    --nonconforming says otherwise.
    """
    attributes = [_attribute(text) for text in read or ()]
    with connect(address) as client:
        request = catalog_pb2.GetSchemaRequest(name=schema)
        binding = pb.SchemaBinding(
            schema_id=client.catalog.GetSchema(request).id,
            version=schema_version,
            attributes=attributes,
        )
        settings = pb.DatasetSettings(
            binding=binding, nonconforming=nonconforming_records.number(nonconforming)
        )
        _set(client, name, settings, expected_version, as_json=as_json)


def unbind(
    name: Name,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Take the columns of the schema away; the attributes stay, and so do promoted columns."""
    with connect(address) as client:
        settings = pb.DatasetSettings(binding=pb.SchemaBinding())
        _set(client, name, settings, expected_version, as_json=as_json)


def _set(
    client: MetaClient,
    name: str,
    settings: pb.DatasetSettings,
    expected_version: str | None,
    *,
    as_json: bool,
) -> None:
    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
    request = pb.SetDatasetSettingsRequest(
        dataset_id=dataset.id,
        settings=settings,
        expected_version=expected_version,
    )
    reply = client.operations.SetDatasetSettings(request)
    columns = reply.settings.promoted_columns.columns
    if as_json:
        print_json(reply.settings, version=reply.version)
        return
    if reply.settings.HasField("binding"):
        choice = nonconforming_records.text_of(reply.settings)
        rest = f"; nonconforming: {choice}" if choice else ""
        print(f"{name}: {schemas_of_datasets.text_of(client, reply.settings)}{rest}")
        print_table(("column", "type", "scope", "attribute"), _rows(columns))
    else:
        print(f"{name}: no schema")


def _rows(columns: Sequence[common_pb2.PromotedColumn]) -> list[tuple[str, str, str, str]]:
    scopes = common_pb2.AttributeScope
    return [
        (
            column.name,
            TYPES[column.type],
            scopes.Name(column.scope).rpartition("_")[2].lower(),
            column.attribute,
        )
        for column in columns
        if column.bound
    ]


def _attribute(text: str) -> pb.BoundAttribute:
    parts = _MAPPED.fullmatch(text)
    if parts is None:
        raise usage(f"{text!r} is not COLUMN:SCOPE:ATTRIBUTE; SCOPE is record, resource or scope")
    scope = common_pb2.AttributeScope.Value(f"ATTRIBUTE_SCOPE_{parts['scope'].upper()}")
    return pb.BoundAttribute(column=parts["column"], scope=scope, attribute=parts["attribute"])
