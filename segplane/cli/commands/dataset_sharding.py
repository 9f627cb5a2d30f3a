"""segplane datasets shard: the fields that lead the sort order of new segments."""

from functools import partial
from typing import Annotated

import typer

from meta.v1 import catalog_pb2, common_pb2
from segplane.cli.commands.dataset_settings import Name
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.entry_changes import refused_with_differences
from segplane.cli.output import AsJson, print_json, print_table


def shard(
    name: Name,
    fields: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIELD[=WEIGHT]]...", help="Columns that readers filter by; weight 1 if unset."
        ),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove all sharding fields.")] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show or replace the fields that lead the sort order of new segments."""
    if fields and none:
        raise usage("FIELD and --none exclude each other")
    sharding_fields = [_field(text) for text in fields or ()]
    with connect(address) as client:
        read = partial(
            client.catalog.GetShardingFields, catalog_pb2.GetShardingFieldsRequest(name=name)
        )
        reply = read()
        if sharding_fields or none:
            request = catalog_pb2.SetShardingFieldsRequest(
                name=name,
                fields=sharding_fields,
                expected_version=reply.version or None,
            )
            with refused_with_differences(reply, read):
                client.catalog.SetShardingFields(request)
            reply = read()
    if as_json:
        print_json(reply.fields)
    else:
        print_table(("field", "weight"), [(f.field_name, f"{f.weight:g}") for f in reply.fields])


def _field(text: str) -> common_pb2.ShardingField:
    name, _, weight = text.partition("=")
    try:
        return common_pb2.ShardingField(field_name=name, weight=float(weight or 1))
    except ValueError:
        raise usage(f"{text!r} is not FIELD=WEIGHT") from None
