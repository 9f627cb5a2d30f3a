"""Requests that are small on the wire and large once they are decompressed."""

from pathlib import Path

import grpc
import pytest

from dataplane.readiness import is_serving
from meta.client import MetaClient
from meta.v1 import catalog_pb2, catalog_pb2_grpc
from segplane.stack.preflight import claim_ports
from tests.support.meta.process import meta_process
from tests.support.waiting import wait_until

MIB = 1024 * 1024
BOMBS = 2
# meta takes messages of 4 MiB.
GROWTH_BYTES_MAX = 100 * MIB


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


@pytest.mark.long
def test_a_bomb_is_refused_within_bounded_memory(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    address = f"127.0.0.1:{claim_ports({'meta': 0})['meta']}"
    bomb = catalog_pb2.CreateDatasetRequest(name="x" * (192 * MIB))
    options = [("grpc.max_send_message_length", -1)]
    with (
        meta_process(address, database_url, tmp_path / "objects") as process,
        MetaClient(address) as client,
        grpc.insecure_channel(address, options=options) as channel,
    ):
        request = catalog_pb2.ListDatasetsRequest()
        # A client gives up sooner than meta starts on a busy machine.
        wait_until(lambda: is_serving(address), "meta")
        before = peak_bytes(process.pid)
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        for _ in range(BOMBS):
            with pytest.raises(grpc.RpcError) as caught:
                stub.CreateDataset(bomb, compression=grpc.Compression.Gzip)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert peak_bytes(process.pid) - before < GROWTH_BYTES_MAX
        assert len(client.catalog.ListDatasets(request).items) == 1
