"""Servers of the protocols of Google Cloud Storage and Azure Blob Storage, as processes for tests.

`make clouds` installs them.
"""

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob import BlobServiceClient
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

from segments.location import StoreLocation
from tests.support.certificates import CertificateFiles
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "build" / "tools"
# The account of every Azurite; its key is published.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
BUCKET = "segments"
# Node reads some thousand files first, which takes a busy machine more than half a minute.
DEADLINE_SECS = 120.0
STARTS = 5


@contextmanager
def running_gcs(folder: Path) -> Iterator[str]:
    """Run a server of Google's protocol with a bucket; gives its URL, skips without its program."""
    program = TOOLS / "fake-gcs-server"
    if not program.exists():
        pytest.skip("fake-gcs-server is not installed: `make clouds` builds it where Go is")
    options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]
    with _running([str(program), *options, "-port"], folder) as url:
        client = storage.Client(None, AnonymousCredentials(), client_options={"api_endpoint": url})
        client.create_bucket(BUCKET, project="tests")
        yield url


@contextmanager
def running_azure(folder: Path, identities: CertificateFiles | None = None) -> Iterator[str]:
    """Run Azurite with a container; gives the URL of its account, skips without its program.

    With a certificate it takes https alone, and identities by their tokens beside the key.
    """
    program = TOOLS / "azurite" / "node_modules" / ".bin" / "azurite-blob"
    node = shutil.which("node")
    if not program.exists() or node is None:
        pytest.skip("Azurite is not installed: `make clouds` installs it where npm is")
    options = ["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    if identities is not None:
        options += ["--oauth", "basic", "--cert", str(identities.cert)]
        options += ["--key", str(identities.key)]
    command = [node, str(program), *options, "--blobHost", "127.0.0.1", "--blobPort"]
    with _running(command, folder) as url:
        scheme = "http" if identities is None else "https"
        account = f"{scheme}{url.removeprefix('http')}/{ACCOUNT}"
        with BlobServiceClient(account, ACCOUNT_KEY) as client:
            client.create_container(BUCKET)
        yield account


def gcs_location(endpoint: str) -> StoreLocation:
    """Name a fresh path of the bucket."""
    return StoreLocation.from_url(f"gs://{BUCKET}/{uuid4()}?endpoint={endpoint}")


def azure_location(endpoint: str) -> StoreLocation:
    """Name a fresh path of the container."""
    return StoreLocation.from_url(f"az://{BUCKET}/{uuid4()}?endpoint={endpoint}")


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[str]:
    process, url = _started(command, folder)
    try:
        yield url
    finally:
        process.terminate()
        process.wait(DEADLINE_SECS)


def _started(command: Sequence[str], folder: Path) -> "tuple[subprocess.Popen[bytes], str]":
    # They do not say which port they got, so they are told one, which another may take meanwhile.
    for _ in range(STARTS):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [*command, str(port)], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        if _is_listening(process, port):
            return process, f"http://127.0.0.1:{port}"
    raise AssertionError((folder / "log").read_text())


def _is_listening(process: "subprocess.Popen[bytes]", port: int) -> bool:
    def is_decided() -> bool:
        if process.poll() is not None:
            return True
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    wait_until(is_decided, "the server to listen", seconds=DEADLINE_SECS)
    return process.poll() is None
