"""Counts of calls under gRPC's names, by meta and by its clients."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import Histogram

from meta.call_metrics import GRPC_BUCKETS, BisectedHistogram, ClientCalls
from meta.client import MetaClient
from meta.errors import NotFound, Unavailable
from meta.metrics import COLLECTOR, META
from meta.v1.catalog_pb2 import CreateDatasetRequest, GetDatasetRequest
from meta.v1.operations_pb2 import WatchDatasetRequest
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

GET = "meta.v1.CatalogService/GetDataset"
WATCH = "meta.v1.OperationsService/WatchDataset"


def started(method: str) -> float:
    return META.get_sample_value("grpc_server_call_started_total", {"grpc_method": method}) or 0.0


def ended(method: str, status: str) -> float:
    labels = {"grpc_method": method, "grpc_status": status}
    return META.get_sample_value("grpc_server_call_duration_seconds_count", labels) or 0.0


def old_seconds(rpc: str, code: str) -> float:
    labels = {"rpc": rpc, "code": code}
    return META.get_sample_value("segplane_rpc_seconds_sum", labels) or 0.0


def new_seconds(method: str, status: str) -> float:
    labels = {"grpc_method": method, "grpc_status": status}
    return META.get_sample_value("grpc_server_call_duration_seconds_sum", labels) or 0.0


def test_a_call_is_counted_under_both_names_by_the_same_observation(
    meta_client: MetaClient,
) -> None:
    before = [started(GET), ended(GET, "NOT_FOUND"), ended(GET, "OK")]
    old = [old_seconds("GetDataset", code) for code in ("OK", "NOT_FOUND")]
    new = [new_seconds(GET, code) for code in ("OK", "NOT_FOUND")]

    meta_client.catalog.GetDataset(GetDatasetRequest(name="default"))
    with pytest.raises(NotFound):
        meta_client.catalog.GetDataset(GetDatasetRequest(name="missing"))

    assert [started(GET), ended(GET, "NOT_FOUND"), ended(GET, "OK")] == [
        before[0] + 2,
        before[1] + 1,
        before[2] + 1,
    ]
    for number, code in enumerate(("OK", "NOT_FOUND")):
        observed = new_seconds(GET, code) - new[number]
        assert observed == pytest.approx(old_seconds("GetDataset", code) - old[number])
        assert observed > 0


def test_a_watch_that_its_reader_ends_is_cancelled(meta_client: MetaClient) -> None:
    meta_client.catalog.CreateDataset(CreateDatasetRequest(name="watched"))
    before = started(WATCH), ended(WATCH, "CANCELLED")
    watch = meta_client.operations.WatchDataset(WatchDatasetRequest(dataset_name="watched"))
    wait_until(lambda: started(WATCH) > before[0], "the watch begins")

    watch.cancel()

    wait_until(lambda: ended(WATCH, "CANCELLED") > before[1], "the watch is counted")


def test_methods_of_strangers_have_one_name(meta_server: MetaServer) -> None:
    before = ended("other", "UNIMPLEMENTED")

    with grpc.insecure_channel(meta_server.address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/meta.v1.CatalogService/Invented", bytes, bytes)(b"")

    assert ended("other", "UNIMPLEMENTED") == before + 1
    assert started("meta.v1.CatalogService/Invented") == 0


def test_health_checks_are_counted_with_their_status(meta_server: MetaServer) -> None:
    check = "grpc.health.v1.Health/Check"
    before = ended(check, "OK"), ended(check, "NOT_FOUND")

    with grpc.insecure_channel(meta_server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        stub.Check(health_pb2.HealthCheckRequest())
        with pytest.raises(grpc.RpcError):
            stub.Check(health_pb2.HealthCheckRequest(service="unheard.of"))

    wait_until(lambda: ended(check, "NOT_FOUND") == before[1] + 1, "the refusal is counted")
    assert ended(check, "OK") == before[0] + 1


def attempts(target: str, status: str) -> float:
    labels = {"grpc_method": GET, "grpc_target": target, "grpc_status": status}
    return COLLECTOR.get_sample_value("grpc_client_attempt_duration_seconds_count", labels) or 0.0


def test_each_attempt_of_a_client_is_counted(meta_server: MetaServer, free_tcp_port: int) -> None:
    address, request = meta_server.address, GetDatasetRequest(name="default")
    nowhere = f"127.0.0.1:{free_tcp_port}"
    # An earlier server of this process may have had the port.
    before = attempts(address, "OK")

    with MetaClient(address, observer=ClientCalls(address)) as client:
        client.catalog.GetDataset(request)
        client.catalog.GetDataset.future(request).result()
    with (
        MetaClient(nowhere, observer=ClientCalls(nowhere)) as client,
        pytest.raises(Unavailable),
    ):
        client.catalog.GetDataset(request, timeout=1.0)

    wait_until(lambda: attempts(address, "OK") == before + 2, "both are counted")
    assert attempts(nowhere, "UNAVAILABLE") >= 1
    labels = {"grpc_method": GET, "grpc_target": nowhere}
    tries = COLLECTOR.get_sample_value("grpc_client_attempt_started_total", labels)
    assert tries is not None
    assert tries >= attempts(nowhere, "UNAVAILABLE")


def test_bisection_finds_the_buckets_that_a_search_finds() -> None:
    searched = Histogram("seconds", "Seconds.", buckets=GRPC_BUCKETS, registry=None)
    bisected = BisectedHistogram("seconds", "Seconds.", buckets=GRPC_BUCKETS, registry=None)

    for bound in (*GRPC_BUCKETS, 1e9):
        for secs in (bound * 0.999, bound, bound * 1.001):
            searched.observe(secs)
            bisected.observe(secs)

    assert _counts(bisected) == _counts(searched)


def _counts(histogram: Histogram) -> list[tuple[str, float]]:
    (family,) = histogram.collect()
    return [
        (sample.name + str(sample.labels), sample.value)
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]
