"""A real collector to which two tenants send, into the same baby segments."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from meta.client import MetaClient
from meta.roles import Role
from meta.v1 import ingest_token_pb2
from tests.support.collector.process import CollectorProcess
from tests.support.gateway.tenants import NAMES, SharedGateway


class SharedCollector:
    """A collector, and an ingest token of each tenant, by their names."""

    def __init__(self, shared: SharedGateway, process: CollectorProcess) -> None:
        self._process = process
        self.tokens = {name: _ingest_token(getattr(shared.tenants, name)) for name in NAMES}

    def send(self, payloads: Mapping[str, bytes]) -> None:
        """Export logs of tenants at the same time, and wait for the acknowledgements."""
        with self._process.stub() as stub:
            calls = [stub.start(self.tokens[name], body) for name, body in payloads.items()]
            for call in calls:
                call.result()


@contextmanager
def shared_collector(shared: SharedGateway) -> Iterator[SharedCollector]:
    """Run a collector at the meta of a gateway."""
    guard = shared.tenants.guard
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": guard.address,
        "COLLECTOR_META_AUTH_TOKEN": guard.token(Role.INGEST).plaintext_token,
        "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
        "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
        "COLLECTOR_ID": "collector-1",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = CollectorProcess(process)
    threading.Thread(target=running.read_log, daemon=True).start()
    try:
        running.wait_for("ready")
        yield SharedCollector(shared, running)
    finally:
        running.kill()


def _ingest_token(client: MetaClient) -> str:
    request = ingest_token_pb2.CreateIngestTokenRequest(name="web", dataset_name="shop/web")
    return client.ingest_token.CreateIngestToken(request).plaintext_token
