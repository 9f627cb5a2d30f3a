"""An OpenTelemetry Collector in front of ours."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from segplane.stack.preflight import claim_ports
from tests.support.collector.ground import Ground
from tests.support.collector.process import DEADLINE_SECS, CollectorProcess, StartCollector
from tests.support.collector.senders import (
    OTELCOL,
    OTELCOL_NAME,
    ROOT,
    ROWS,
    SENT,
    SenderRow,
    require,
    send_with_sdk,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.senders
DOCUMENTED = ROOT / "docs" / "otel-collector.yaml"
PYTHON = SenderRow("Python SDK", "http/protobuf", ("none",))
EXPORTS = [
    (row.protocol, encoding)
    for row in ROWS
    if row.client == OTELCOL_NAME
    for encoding in row.encodings
]
UNSUPPORTED = ("zstd", "snappy")


@pytest.fixture(autouse=True)
def built() -> None:
    """Skip where there is no OpenTelemetry Collector."""
    require(OTELCOL)


@contextmanager
def otelcol(config: Path, log_path: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run an OpenTelemetry Collector; gives the URL of its OTLP/HTTP receiver."""
    ports = claim_ports({"grpc": 0, "http": 0})
    listen = {f"OTLP_{name.upper()}_LISTEN": f"127.0.0.1:{port}" for name, port in ports.items()}
    with (
        log_path.open("wb") as log,
        subprocess.Popen(
            [OTELCOL, f"--config={config}"],
            env={**os.environ, **listen, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            wait_until(lambda: is_open(ports["http"]), "receiver is open", seconds=DEADLINE_SECS)
            yield f"http://127.0.0.1:{ports['http']}"
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE_SECS) == 0, log_path.read_text()
        finally:
            process.kill()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def config_of(exporters: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a configuration that sends what it receives to each exporter, and then answers."""
    synchronous = {"sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}
    pipeline = {"receivers": ["otlp"], "exporters": list(exporters)}
    receiver = {"protocols": {"http": {"endpoint": "${env:OTLP_HTTP_LISTEN}"}}}
    config = {
        "receivers": {"otlp": receiver},
        "exporters": {name: {**exporter, **synchronous} for name, exporter in exporters.items()},
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": dict.fromkeys(SENT, pipeline),
        },
    }
    # JSON is YAML.
    return json.dumps(config)


def exporter_of(
    collector: CollectorProcess, protocol: str, encoding: str, token_secret: str
) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token_secret}"}
    if protocol == "grpc":
        target: dict[str, Any] = {"endpoint": f"127.0.0.1:{collector.grpc_port}"}
        target["tls"] = {"insecure": True}
    else:
        target = {"endpoint": f"http://127.0.0.1:{collector.http_port}"}
        target["encoding"] = "json" if protocol == "http/json" else "proto"
    return {**target, "compression": encoding, "headers": headers}


def named(protocol: str, encoding: str) -> str:
    return f"{'otlp' if protocol == 'grpc' else 'otlphttp'}/{protocol.split('/')[-1]}_{encoding}"


def test_every_record_is_committed_once_in_every_encoding(
    ground: Ground, start_collector: StartCollector, tmp_path: Path
) -> None:
    collector = start_collector()
    tokens = {named(*export): ground.new_token() for export in EXPORTS}
    exporters = {
        named(*export): exporter_of(collector, *export, tokens[named(*export)].token_secret)
        for export in EXPORTS
    }
    config = tmp_path / "config.yaml"
    config.write_text(config_of(exporters))

    with otelcol(config, tmp_path / "otelcol.log", {}) as url:
        send_with_sdk(PYTHON, url, "it_unused", "none")

    counts = ground.committed_counts()
    found = {name: counts.get(token.dataset_id) for name, token in tokens.items()}
    assert found == dict.fromkeys(tokens, SENT), (tmp_path / "otelcol.log").read_text()


@pytest.mark.parametrize("encoding", UNSUPPORTED)
def test_the_documented_message_is_in_its_log_where_grpc_does_not_know_an_encoding(
    ground: Ground, start_collector: StartCollector, tmp_path: Path, encoding: str
) -> None:
    collector, token = start_collector(), ground.new_token()
    exporter = exporter_of(collector, "grpc", encoding, token.token_secret)
    config, log = tmp_path / "config.yaml", tmp_path / "otelcol.log"
    config.write_text(config_of({"otlp": exporter}))

    with otelcol(config, log, {}) as url:
        send_with_sdk(PYTHON, url, "it_unused", "none")

    message = "Error parsing 'grpc-encoding' metadata"
    assert message in log.read_text()
    assert message in " ".join((ROOT / "docs" / "collector.md").read_text().split())
    assert ground.commits() == []


def test_the_documented_configuration_keeps_records_until_segplane_is_there(
    ground: Ground, start_collector: StartCollector, tmp_path: Path
) -> None:
    token = ground.new_token()
    port = claim_ports({"http": 0})["http"]
    environment = {
        "SEGPLANE_OTLP_HTTP": f"http://127.0.0.1:{port}",
        "SEGPLANE_INGEST_TOKEN": token.token_secret,
    }

    with otelcol(DOCUMENTED, tmp_path / "otelcol.log", environment) as url:
        send_with_sdk(PYTHON, url, "it_unused", "none")
        assert ground.committed_counts() == {}
        start_collector(COLLECTOR_HTTP_BIND=f"127.0.0.1:{port}")

        wait_until(
            counted(ground, token.dataset_id), "every record is committed", seconds=DEADLINE_SECS
        )

    assert ground.committed_counts() == {token.dataset_id: SENT}


def counted(ground: Ground, dataset_id: str) -> Callable[[], bool]:
    return lambda: ground.committed_counts().get(dataset_id) == SENT
