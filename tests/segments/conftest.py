"""Object stores for tests: a folder, a bucket of moto behind a lock, and one of VersityGW."""

import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.segments.store.faulty_proxy import FaultyProxy, running_proxy
from tests.segments.store.versitygw import ACCESS_KEY, SECRET_KEY, running_versitygw

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

BUCKET = "segments-of-tests"


class OneAtATime:
    """A WSGI application whose requests wait for each other.

    moto checks If-None-Match and writes in two steps: of 200 keys with 12 conditional writers
    each, 7 had more than one winner. S3 does it in one, so the lock makes moto the truer fake.
    """

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()

    def __call__(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        # The body is read before: a client that is slow to send must not hold the others up.
        with self._lock:
            return list(self._app(environ, start))


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Run moto's S3 on a free port; returns its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, OneAtATime(), threaded=True)
    thread = threading.Thread(target=server.serve_forever, name="moto")
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def proxy(s3_endpoint: str) -> Iterator[FaultyProxy]:
    """Run a proxy in front of moto."""
    with running_proxy(s3_endpoint) as server:
        yield server


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give credentials that all servers take, and keep boto3 from asking the machine for others."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="session")
def versitygw_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run VersityGW; returns its URL."""
    with running_versitygw(tmp_path_factory.mktemp("versitygw")) as url:
        yield url


@pytest.fixture
def s3_location(s3_endpoint: str, aws_credentials: None) -> StoreLocation:
    """Name a fresh path of a bucket of moto."""
    return fresh_location(s3_endpoint)


@pytest.fixture
def versitygw_location(versitygw_endpoint: str, aws_credentials: None) -> StoreLocation:
    """Name a fresh path of a bucket of VersityGW."""
    return fresh_location(versitygw_endpoint)


def fresh_location(endpoint: str) -> StoreLocation:
    """Name a fresh path of a server's bucket, which is made if need be."""
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    with contextlib.suppress(client.exceptions.BucketAlreadyOwnedByYou):
        client.create_bucket(Bucket=BUCKET)
    return StoreLocation("s3", endpoint, BUCKET, "us-east-1", f"base/{uuid4()}")


@pytest.fixture
def folder_location(tmp_path: Path) -> StoreLocation:
    """Make a fresh folder."""
    folder = tmp_path / "objects"
    folder.mkdir()
    return StoreLocation.from_url(f"file://{folder}")


@pytest.fixture(params=["folder", "s3", "versitygw"], ids=["folder", "moto", "versitygw"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """Open each kind of store in turn, empty."""
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return open_store(location)
