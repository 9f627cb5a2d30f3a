"""A dataset that is deduplicated, and orders with a deduplication key."""

import time
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, nursery_pb2
from meta.v1 import operations_pb2 as pb
from segments.ids import new_uuid7
from tests.support.meta import bindings
from tests.support.meta.bindings import STRING, Column
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.nursery.drivers import CollectorDriver, nursery

DAY_NANOS = 86_400 * 10**9


def orders(*names: str, text: str = "", days_ago: int = 0, price: str = "") -> bytes:
    """Make a payload of one log record for each name, which is its order_id; "" = it has none.

    A `price` is a text, which violates the schema.
    """
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for name in names:
        record = records.add(time_unix_nano=time.time_ns() - days_ago * DAY_NANOS)
        record.body.string_value = f"{name}{text}"
        if name:
            record.attributes.add(key="order_id").value.string_value = name
        if price:
            record.attributes.add(key="price").value.string_value = price
    return data.SerializeToString()


def bind_once(client: MetaClient, dataset_id: str, days: int = 3) -> str:
    """Bind a dataset to a schema with an order_id, by which it is deduplicated."""
    schema = bindings.create(
        client,
        f"schema-{dataset_id}",
        Column(name="order_id", type=STRING),
        bindings.price("price"),
    )
    bindings.bind(client, dataset_id, schema)
    identify(client, dataset_id, "order_id", days)
    return schema


def identify(client: MetaClient, dataset_id: str, column: str, days: int = 0) -> pb.DatasetSettings:
    deduplication = common_pb2.Deduplication(column=column, window_days=days)
    return set_settings(client, dataset_id, pb.DatasetSettings(deduplication=deduplication))


def duplicates(client: MetaClient, dataset_id: str) -> int:
    return get_settings(client, dataset_id).duplicates


def claim_event(client: Any, dataset_id: str) -> None:
    """Have each event of a dataset once, stage a deduplication key, and claim one of its rows."""
    bind_once(client, dataset_id)
    rule = get_settings(client, dataset_id).deduplication.rule
    day = nursery_pb2.DayKeys(day=time.time_ns() // DAY_NANOS, hashes=bytes(16))
    deduplication_keys = nursery_pb2.DeduplicationKeys(rule=rule, days=[day])
    client.operations.StageDeduplicationKeys(
        pb.StageDeduplicationKeysRequest(staged_id=str(new_uuid7()), days=[day])
    )
    client.operations.ClaimEvents(
        pb.ClaimEventsRequest(dataset_id=dataset_id, deduplication_keys=deduplication_keys)
    )


def send(collector: CollectorDriver, *payloads: bytes) -> None:
    collector.commit(collector.put(payloads=payloads))


def merge(collector: CollectorDriver, **changes: Any) -> None:
    nursery(collector.client, **changes).cycle()


def name_of(collector: CollectorDriver) -> str:
    request = catalog_pb2.GetDatasetRequest(id=collector.dataset_id)
    return collector.client.catalog.GetDataset(request).name


def shard(collector: CollectorDriver) -> int:
    """The half of the streams that a collector's is in."""
    request = nursery_pb2.GetIngestStreamsRequest(shard_index=1, shard_count=2)
    streams = collector.client.nursery.GetIngestStreamsForNursery(request).streams
    return int(collector.stream_id in {stream.stream_id for stream in streams})


def more_streams(collector: CollectorDriver) -> Iterator[CollectorDriver]:
    while True:
        yield CollectorDriver(collector.client, collector.dataset_id)
