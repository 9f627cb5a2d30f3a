"""Clients that know nothing of this project list and call a running meta through reflection.

`make tools` fetches grpcurl where Go is installed; buf comes with the development requirements.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from tests.support.meta.server import MetaServer

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).parent / "buf"
TIMEOUT_SECS = 60
SERVICES = {
    f"meta.v1.{name}Service"
    for name in (
        "Catalog",
        "Ingestion",
        "IngestToken",
        "Nursery",
        "MergeTask",
        "SegmentDeletion",
        "SegmentLookup",
        "Janitor",
        "Operations",
    )
}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECS, cwd=ROOT
    )


@pytest.fixture(scope="session")
def grpcurl() -> str:
    """Give the path of grpcurl."""
    found = shutil.which("grpcurl", path=str(ROOT / "build" / "tools")) or shutil.which("grpcurl")
    if found is None:
        pytest.skip("grpcurl is not installed: `make tools` fetches it where Go is")
    return found


def buf_curl(server: MetaServer, method: str, *options: str) -> subprocess.CompletedProcess[str]:
    plain = ("--protocol", "grpc", "--http2-prior-knowledge")
    return run(BUF, "curl", *plain, *options, f"http://{server.address}{method}")


def test_grpcurl_lists_the_services(grpcurl: str, meta_server: MetaServer) -> None:
    listed = run(grpcurl, "-plaintext", meta_server.address, "list")

    assert set(listed.stdout.split()) >= SERVICES, listed.stderr


def test_grpcurl_describes_an_rpc(grpcurl: str, meta_server: MetaServer) -> None:
    described = run(
        grpcurl, "-plaintext", meta_server.address, "describe", "meta.v1.SegmentLookupService"
    )

    assert (
        "rpc FindSegments ( .meta.v1.FindSegmentsRequest ) returns"
        " ( .meta.v1.FindSegmentsResponse );"
    ) in described.stdout


def test_grpcurl_creates_and_reads_a_dataset(grpcurl: str, meta_server: MetaServer) -> None:
    service = "meta.v1.CatalogService"
    asked = (grpcurl, "-plaintext", "-d", '{"name": "from grpcurl"}', meta_server.address)

    created = run(*asked, f"{service}/CreateDataset")
    read = run(*asked, f"{service}/GetDataset")

    assert created.returncode == 0, created.stderr
    said = json.loads(read.stdout)
    assert said.pop("authors")["created_by"] == "anonymous"
    assert said == json.loads(created.stdout)


def test_grpcurl_shows_the_reason_of_a_refusal(grpcurl: str, meta_server: MetaServer) -> None:
    refused = run(
        grpcurl,
        *("-plaintext", "-d", '{"name": "nobody made it"}'),
        *(meta_server.address, "meta.v1.CatalogService/GetDataset"),
    )

    assert "Code: NotFound" in refused.stderr
    assert '"reason": "NOT_FOUND"' in refused.stderr
    assert '"domain": "meta.v1"' in refused.stderr


@pytest.mark.parametrize("reflection", ["grpc-v1", "grpc-v1alpha"])
def test_buf_curl_lists_the_services(meta_server: MetaServer, reflection: str) -> None:
    listed = buf_curl(meta_server, "", "--list-services", "--reflect-protocol", reflection)

    assert set(listed.stdout.split()) >= SERVICES, listed.stderr


@pytest.mark.parametrize("reflection", ["grpc-v1", "grpc-v1alpha"])
def test_buf_curl_reads_the_default_dataset(meta_server: MetaServer, reflection: str) -> None:
    read = buf_curl(
        meta_server,
        "/meta.v1.CatalogService/GetDataset",
        *("--reflect-protocol", reflection, "--data", '{"name": "default"}'),
    )

    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout)["name"] == "default"


def test_reflection_clients_that_open_a_stream_per_question_are_served(
    meta_server: MetaServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)

        listed = [set(database.get_services()) for _ in range(50)]

    assert all(names >= SERVICES for names in listed)
    assert "rpc_failed" not in "".join(capfd.readouterr())
