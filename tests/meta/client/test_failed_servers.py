"""A client of two metas of which one fails: its calls are answered by the other, each once."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from socket import socket
from threading import enumerate as enumerate_threads

import pytest

from meta.client import MetaClient, liveness
from meta.config import Settings
from meta.errors import DeadlineExceeded, MetaError, OutcomeUnknown, Unavailable
from meta.server import server
from meta.v1.catalog_pb2 import (
    CreateDatasetRequest,
    GetDatasetRequest,
    ListDatasetsRequest,
    ListSchemasRequest,
)
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest, ListIngestTokensRequest
from meta.v1.operations_pb2 import WatchDatasetRequest
from tests.meta.client.conftest import TwoMetas
from tests.support.meta.busy_database import locked_table, waiting_backends
from tests.support.meta.cut_proxy import Fault
from tests.support.waiting import wait_until

GET = GetDatasetRequest(name="default")
# What a failed server may cost a call, by how it fails.
COST_SECS = {
    Fault.KILLED: 2.0,
    Fault.STOPPED: 10.0,
    Fault.CUT_ONE_WAY: 10.0,
    Fault.HALF_OPEN: 10.0,
}


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have silent servers found in a fifth of the time."""
    monkeypatch.setattr(liveness, "PATIENCE_SECS", 0.4)
    monkeypatch.setattr(liveness, "PROBE_SECS", 0.6)


def seconds_of(call: Callable[[], object]) -> float:
    """The duration of a call."""
    began = time.monotonic()
    call()
    return time.monotonic() - began


@pytest.mark.long
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.value)
def test_a_server_that_fails_costs_a_call_no_more_than_is_promised(
    metas: TwoMetas, client: MetaClient, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault is not Fault.STOPPED:
        # The bound of seconds is that of STOPPED, which is found in the same way.
        be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    metas.in_use().fail(fault)

    first_secs = seconds_of(lambda: client.catalog.CreateDataset(CreateDatasetRequest(name="web")))
    second_secs = seconds_of(lambda: client.catalog.GetDataset(GetDatasetRequest(name="web")))

    assert first_secs < COST_SECS[fault]
    # The next call knows, and waits for nothing.
    assert second_secs < 2.0
    listed = client.catalog.ListDatasets(ListDatasetsRequest())
    assert sorted(row.name for row in listed.items) == ["default", "web"]


def test_a_server_that_drains_answers_its_calls_and_gets_no_others(
    metas: TwoMetas, meta_settings: Settings, database_url: str
) -> None:
    staying = metas.proxies[0]
    leaving = server.start(meta_settings)
    with (
        ThreadPoolExecutor(2) as pool,
        MetaClient(f"127.0.0.1:{leaving.port},{staying.address}") as client,
    ):
        staying.fail(Fault.KILLED)
        client.catalog.GetDataset(GET)
        staying.fail(None)
        with locked_table(database_url, "datasets"):
            running = pool.submit(client.catalog.GetDataset, GET)
            wait_until(lambda: waiting_backends(database_url) == 1, "a call runs")
            stopping = pool.submit(leaving.stop, 30.0)
            wait_until(lambda: bool(refused_by(leaving.port)), "the server takes no more")
            took_secs = seconds_of(lambda: client.catalog.ListSchemas(ListSchemasRequest()))
            assert waiting_backends(database_url) == 1
        stopping.result(30)

        assert running.result(30).name == "default"
    assert took_secs < 2.0


def refused_by(port: int) -> bool:
    """True if nobody listens at a port."""
    with socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


def test_a_slow_call_of_a_healthy_server_is_not_sent_again(
    metas: TwoMetas, client: MetaClient, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    used = metas.in_use()
    with ThreadPoolExecutor(1) as pool:
        with locked_table(database_url, "datasets"):
            slow = pool.submit(client.catalog.GetDataset, GET)
            wait_until(lambda: used.health_checks >= 3, "the connection is probed", seconds=9)
            assert waiting_backends(database_url) == 1

        assert slow.result(30).name == "default"
    assert metas.other(used).accepted == 0


@pytest.mark.slow
def test_a_slow_link_is_not_taken_for_silence_again_and_again(
    metas: TwoMetas, client: MetaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    for proxy in metas.proxies:
        # The first probe takes less. The third takes more, though a new connection costs it twice.
        proxy.delay_secs = 1.3

    assert client.catalog.GetDataset(GET).name == "default"


def test_a_short_deadline_on_a_silent_server_fails_once(
    metas: TwoMetas, client: MetaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    metas.in_use().fail(Fault.STOPPED)

    with pytest.raises(DeadlineExceeded):
        client.catalog.GetDataset(GET, timeout=0.5)

    def is_answered() -> bool:
        try:
            return bool(client.catalog.GetDataset(GET, timeout=0.5).name)
        except DeadlineExceeded:
            return False

    assert wait_until(is_answered, "the other server is used") < 10.0


def test_a_token_is_not_created_twice_and_its_caller_learns_of_it(
    metas: TwoMetas, client: MetaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    used = metas.in_use()
    request = CreateIngestTokenRequest(name="t", dataset_name="default")

    used.fail_after_health(Fault.CUT_ONE_WAY)
    with pytest.raises(OutcomeUnknown, match="revoke it"):
        client.ingest_token.CreateIngestToken(request)

    tokens = client.ingest_token.ListIngestTokens(ListIngestTokensRequest()).tokens
    assert [token.name for token in tokens] == ["t"]


@pytest.mark.parametrize("fault", [Fault.KILLED, Fault.STOPPED], ids=lambda fault: fault.value)
def test_a_token_is_created_once_beside_a_failed_server(
    metas: TwoMetas, client: MetaClient, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    client.catalog.GetDataset(GET)
    metas.in_use().fail(fault)

    request = CreateIngestTokenRequest(name="t", dataset_name="default")
    assert client.ingest_token.CreateIngestToken(request).plaintext_token

    tokens = client.ingest_token.ListIngestTokens(ListIngestTokensRequest()).tokens
    assert len(tokens) == 1


def test_without_any_server_a_call_is_unavailable_and_each_was_tried(
    metas: TwoMetas, client: MetaClient
) -> None:
    for proxy in metas.proxies:
        proxy.fail(Fault.KILLED)

    with pytest.raises(Unavailable, match="failed to connect"):
        client.catalog.GetDataset(GET)
    with pytest.raises(Unavailable, match="failed to connect"):
        client.ingest_token.CreateIngestToken(CreateIngestTokenRequest(name="t"))

    metas.proxies[1].fail(None)
    assert client.catalog.GetDataset(GET).name == "default"


def test_health_is_that_of_any_server(metas: TwoMetas, client: MetaClient) -> None:
    assert client.find_health(1.0)

    metas.in_use().fail(Fault.STOPPED)
    began = time.monotonic()
    assert client.find_health(1.0)
    assert time.monotonic() - began < 3.0

    for proxy in metas.proxies:
        proxy.fail(Fault.KILLED)
    assert client.find_health(1.0) is False


def test_a_client_that_is_closed_opens_nothing_and_leaves_no_thread(
    metas: TwoMetas, database_url: str
) -> None:
    client = MetaClient(metas.addresses)
    with ThreadPoolExecutor(1) as pool, locked_table(database_url, "datasets"):
        running = pool.submit(client.catalog.GetDataset, GET)
        wait_until(lambda: waiting_backends(database_url) == 1, "a call runs")
        client.close()

        assert isinstance(running.exception(10), MetaError)
        with pytest.raises(ValueError, match="closed"):
            client.catalog.GetDataset(GET)
        with pytest.raises(ValueError, match="closed"):
            client.operations.WatchDataset(WatchDatasetRequest(dataset_name="default"))
    wait_until(lambda: not any(proxy.connections for proxy in metas.proxies), "all is closed")
    assert not [thread.name for thread in enumerate_threads() if thread.name == "meta-liveness"]
