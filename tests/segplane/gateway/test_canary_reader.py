"""The reader of a canary with a reader's token for one dataset."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.config import Settings
from meta.roles import Role
from segplane.cli.canary.readers import GatewayReader, UnreadableDataset
from segplane.cli.delivery import NUMBER, RUN
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        Path(urlsplit(meta_settings.location.url()).path).mkdir(parents=True, exist_ok=True)
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(
        guard.address, token, pool=query_pool, meta_auth_token=token, auth_token="of-the-gateway"
    )
    yield server
    server.close()


def record(run: str, number: int) -> bytes:
    """Encode a record of a canary's run."""
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=NOW)
    record.attributes.add(key=RUN).value.string_value = run
    record.attributes.add(key=NUMBER).value.int_value = number
    return data.SerializeToString()


def test_a_readers_token_for_one_dataset_is_enough(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    catalog = CatalogDriver(guard.admin)
    collector = CollectorDriver(guard.admin, catalog.dataset("can'ary"))
    catalog.dataset("other")
    sent = [record("run", 0), record("run", 1), record("another", 2)]
    collector.commit(collector.put(payloads=sent))
    nursery(guard.admin).cycle()
    reader = guard.token(Role.READER, "canary", dataset_names=["can'ary"]).plaintext_token
    url = gateway.server

    numbers = GatewayReader("can'ary", url, reader).numbers("visible", "run", NOW)
    later = GatewayReader("can'ary", url, reader).numbers("visible", "run", NOW + 10**9)

    assert sorted(numbers) == [0, 1]
    assert later == []
    for dataset, token in (("other", reader), ("can'ary", "x"), ("can'ary", "")):
        with pytest.raises(UnreadableDataset, match=r"the gateway answers 40[01]"):
            GatewayReader(dataset, url, token).numbers("visible", "run", NOW)
