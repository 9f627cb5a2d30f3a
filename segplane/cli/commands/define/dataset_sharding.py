"""segplane datasets shard: the fields that lead the sort order of new segments."""

from functools import partial
from typing import Annotated

from segplane.cli.connection import usage
from segplane.cli.entry_changes import refused_with_differences
from segplane.cli.messages import MetaClient, catalog_pb2, common_pb2
from segplane.cli.options import Dataset
from segplane.cli.output import Answer, listing
from segplane.cli.parameters import Positional


def shard(
    client: MetaClient,
    name: Dataset,
    fields: Annotated[list[str] | None, Positional(metavar="[FIELD[=WEIGHT]]...")] = None,
    none: bool = False,
) -> Answer:
    """Show or replace the fields that lead the sort order of new segments.

    Options:
        fields: Columns that readers filter by; weight 1 if unset.
        none: Remove all sharding fields.
    """
    if fields and none:
        raise usage("FIELD and --none exclude each other")
    sharding_fields = [_field(text) for text in fields or ()]
    read = partial(
        client.catalog.GetShardingFields, catalog_pb2.GetShardingFieldsRequest(name=name)
    )
    reply = read()
    if sharding_fields or none:
        request = catalog_pb2.SetShardingFieldsRequest(
            name=name, fields=sharding_fields, expected_version=reply.version or None
        )
        with refused_with_differences(reply, read):
            client.catalog.SetShardingFields(request)
        reply = read()
    return listing(reply.fields, {"field": "field_name", "weight": lambda f: f"{f.weight:g}"})


def _field(text: str) -> "common_pb2.ShardingField":

    name, _, weight = text.partition("=")
    try:
        return common_pb2.ShardingField(field_name=name, weight=float(weight or 1))
    except ValueError:
        raise usage(f"{text!r} is not FIELD=WEIGHT") from None
