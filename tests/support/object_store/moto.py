"""moto's S3 behind a lock, as a server of this process."""

import contextlib
import functools
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from segments.location import StoreLocation

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from types_boto3_s3 import S3Client

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


@contextlib.contextmanager
def running_moto() -> Iterator[str]:
    """Serve on a free port; gives the URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, OneAtATime(), threaded=True)
    thread = threading.Thread(target=server.serve_forever, name="moto")
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def put_empty(location: StoreLocation, keys: Iterable[str]) -> None:
    """Put objects without requests, which take 10 ms each."""
    backend = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
    for key in keys:
        backend.put_object(location.bucket, f"{location.path}/{key}", b"")


def fresh_location(endpoint: str) -> StoreLocation:
    """Name a fresh path of a server's bucket, which is made if need be."""
    client = _client(endpoint, os.environ.get("AWS_ACCESS_KEY_ID"))
    with contextlib.suppress(client.exceptions.BucketAlreadyOwnedByYou):
        client.create_bucket(Bucket=BUCKET)
    return StoreLocation("s3", endpoint, BUCKET, "us-east-1", f"base/{uuid4()}")


@functools.cache
def _client(endpoint: str, _key: str | None) -> "S3Client":
    """Give a client with the credentials of the environment: making one takes 60 ms."""
    # Its own session: the default one keeps the credentials that it found first.
    return boto3.Session().client("s3", endpoint_url=endpoint, region_name="us-east-1")
