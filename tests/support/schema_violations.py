"""A dataset that is bound to a schema, and orders of which some violate the schema to it."""

import json
from collections.abc import Sequence
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from tests.support.command_line import RunCommand
from tests.support.meta import bindings
from tests.support.meta.bindings import STRING, Column, price
from tests.support.meta.dataset_life import set_settings
from tests.support.nursery.drivers import NOW, CollectorDriver
from tests.support.visible_segments import texts

NULL, QUARANTINE, REJECT = (
    pb.SCHEMA_VIOLATIONS_NULL,
    pb.SCHEMA_VIOLATIONS_QUARANTINE,
    pb.SCHEMA_VIOLATIONS_REJECT,
)

PRICES = (1, "two", 3, "4", "five")
# The orders of PRICES that a reader sees, and those that are quarantined.
CONFORMING, OTHERS = ["0: 1", "2: 3", "3: 4"], ["1: two", "4: five"]


def orders(*prices: str | int) -> bytes:
    """Make a payload of one log record for each price, of two resources in turns."""
    data = LogsData()
    for place, value in enumerate(prices):
        if place % 2 == 0:
            resource = data.resource_logs.add()
            resource.resource.attributes.add(key="shop").value.string_value = f"s{place}"
            scope = resource.scope_logs.add()
            scope.scope.name = "till"
        record = scope.log_records.add(time_unix_nano=NOW + place)
        record.body.string_value = f"{place}: {value}"
        attribute = record.attributes.add(key="price").value
        if isinstance(value, int):
            attribute.int_value = value
        else:
            attribute.string_value = value
    return data.SerializeToString()


def bodies(payload: bytes) -> list[str]:
    data = LogsData.FromString(payload)
    return [
        record.body.string_value
        for resource in data.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def bind(client: MetaClient, dataset_id: str, choice: pb.SchemaViolations.ValueType) -> str:
    """Bind a dataset to its own schema with a price; returns the schema's id."""
    schema = bindings.create(client, f"schema-{dataset_id}", price("price"))
    bindings.bind(client, dataset_id, schema)
    choose(client, dataset_id, choice)
    return schema


def choose(
    client: MetaClient, dataset_id: str, choice: pb.SchemaViolations.ValueType
) -> pb.DatasetSettings:
    return set_settings(client, dataset_id, pb.DatasetSettings(schema_violations=choice))


def correct(client: MetaClient, schema: str, names: Sequence[str] = ("price",)) -> None:
    """Take columns out of the schema and add one that every text fits."""
    bindings.update(client, schema, [Column(name="shop_name", type=STRING)], names)


def send(collector: CollectorDriver, *prices: str | int) -> None:
    collector.commit(collector.put(payloads=(orders(*prices),)))


def seen(collector: CollectorDriver) -> list[str]:
    return texts(collector.client, collector.store)


def listed(run: RunCommand) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(run("quarantine", "list", "--json").stdout)
    return items


def withheld(run: RunCommand) -> dict[str, tuple[int, int]]:
    done = run("fsck", "--deep", "--json")
    assert done.exit_code == 0, done.stdout
    report = json.loads(done.stdout)
    return {kind["reason"]: (kind["objects"], kind["records"]) for kind in report["withheld"]}
