"""Health of a collector whose meta hangs: the process is there and answers nothing."""

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from segplane.stack.preflight import claim_ports
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.meta.process import meta_process
from tests.support.waiting import wait_until

NOTICED_SECS = 5.0


@pytest.fixture
def address() -> str:
    """Give an address for a meta of its own process."""
    return f"127.0.0.1:{claim_ports({'meta': 0})['meta']}"


@pytest.fixture
def meta(address: str, database_url: str, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Give a meta that can be suspended."""
    with meta_process(address, database_url, tmp_path / "objects") as process:
        yield process


@pytest.mark.long
def test_a_meta_that_hangs_is_noticed_within_five_seconds_on_both_ports(
    address: str, meta: "subprocess.Popen[bytes]", start_collector: StartCollector
) -> None:
    collector = start_collector(COLLECTOR_META_ADDRESS=address)
    assert answers(collector) == {"SERVING"}

    meta.send_signal(signal.SIGSTOP)
    wait_until(
        lambda: answers(collector) == {"NOT_SERVING"}, "hang is noticed", seconds=NOTICED_SECS
    )

    meta.send_signal(signal.SIGCONT)
    wait_until(lambda: answers(collector) == {"SERVING"}, "return is noticed", seconds=30)


def answers(collector: CollectorProcess) -> set[str]:
    """Ask both ports for the health of the collector."""
    return {grpc_health(collector), http_health(collector)}


def grpc_health(collector: CollectorProcess) -> str:
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc_port}") as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    name: str = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    return name


def http_health(collector: CollectorProcess) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", collector.http_port, timeout=20)
    try:
        connection.request("GET", "/healthz")
        text: str = json.loads(connection.getresponse().read())["status"]
        return text
    finally:
        connection.close()
