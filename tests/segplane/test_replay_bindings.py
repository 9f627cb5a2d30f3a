"""Payloads of the quarantine that are replayed while their dataset is bound to a schema."""

from pathlib import Path
from typing import cast

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.babies.payload import Payload
from dataplane.location import ask_location
from meta.client import MetaClient
from meta.errors import LayoutChanged
from meta.v1 import operations_pb2 as pb
from segments.keys import quarantine_key
from segments.parquet.reader import read_segment
from segments.store.interface import ObjectStore
from segplane.recovery.payload_replay import begin_replay, register_payload
from segplane.recovery.rebuild import read_plan
from tests.support.meta.bindings import bind, create, price
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, nursery
from tests.support.visible_segments import find, key_of

BROKEN = b"\x0a\x05ab"


def body_of(value: int) -> bytes:
    """Encode one log record with a price."""
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=NOW)
    record.attributes.add(key="price").value.int_value = value
    return data.SerializeToString()


class Overtaken:
    """A store; a dataset is bound to one more column after each of the next files."""

    def __init__(self, store: ObjectStore, client: MetaClient, dataset_id: str) -> None:
        self.bindings: list[str] = []
        self._store, self._client, self._dataset_id = store, client, dataset_id

    def put_file_if_absent(self, key: str, path: Path) -> None:
        self._store.put_file_if_absent(key, path)
        if self.bindings:
            name = self.bindings.pop()
            schema = create(self._client, f"with {name}", price("price"), price(name))
            bind(self._client, self._dataset_id, schema)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_a_replay_that_a_binding_overtakes_is_written_with_the_bound_columns(
    meta_server: MetaServer,
) -> None:
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    client, dataset_id = collector.client, collector.dataset_id
    collector.commit(collector.put("good", payloads=(BROKEN,)))
    nursery(client).cycle()
    (merged,) = find(client)
    key = quarantine_key(collector.stream_id, 0, collector.token_id, "logs", 1)
    consent = pb.LossAcceptance(accept_loss=True, actor="op", reason="why")
    begin_replay(client, key, dataset_id, consent)
    body = body_of(7)
    payload = Payload(
        collector.stream_id, 0, collector.token_id, "logs", 1, body, NOW, len(body), False
    )
    store = Overtaken(collector.store, client, dataset_id)
    location = ask_location(client, "quarantine")

    def replay() -> pb.Replay:
        return register_payload(
            client, location, cast(ObjectStore, store), key, payload, dataset_id
        )

    store.bindings = ["third", "second", "first"]
    with pytest.raises(LayoutChanged):
        replay()
    store.bindings = ["fourth"]
    (segment_id,) = replay().segment_ids

    (segment,) = (one for one in find(client) if one.id == segment_id)
    (table,) = read_segment(collector.store, key_of(segment)).values()
    assert table["price"].to_pylist() == [7]
    assert "fourth" in table.column_names
    # The files of before a binding are gone, so a rebuild finds none of them.
    restored = {one.key for one in read_plan(collector.store).segments}
    assert restored == {key_of(merged), key_of(segment)}
