"""The probe of an S3 store names what is wrong with it."""

import dataclasses
import socket
from pathlib import Path

import pytest

from segments.errors import (
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store.bucket import BucketStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.object_store.answers import SOON, always, ignore_condition, is_complete, is_put
from tests.support.object_store.faulty_proxy import FaultyProxy, Forward, ProxyAnswer, Request


@pytest.fixture
def store(s3_location: StoreLocation, proxy: FaultyProxy) -> BucketStore:
    """Open a store whose requests pass through the proxy, and that soon asks again."""
    return BucketStore(dataclasses.replace(s3_location, endpoint=proxy.url), SOON)


def test_the_probe_refuses_a_store_that_ignores_the_condition(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    proxy.fault = ignore_condition

    with pytest.raises(StoreUnusable, match="ignores If-None-Match") as refusal:
        store.probe()

    assert "\n" not in str(refusal.value)


def test_the_probe_refuses_a_store_that_ignores_the_condition_of_uploads(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    proxy.fault = lambda request, forward: (
        ignore_condition(request, forward) if is_complete(request) else forward(request)
    )

    with pytest.raises(StoreUnusable, match="CompleteMultipartUpload"):
        store.probe()


def test_the_probe_refuses_a_store_that_says_exists_and_overwrites(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    def lie(request: Request, forward: Forward) -> ProxyAnswer:
        answer = ignore_condition(request, forward)
        refusal = b"<Error><Code>PreconditionFailed</Code></Error>"
        return ProxyAnswer(412, body=refusal) if is_put(request) else answer

    proxy.fault = lie

    with pytest.raises(StoreUnusable, match="overwrote it"):
        store.probe()


def test_the_probe_names_a_missing_bucket(s3_location: StoreLocation) -> None:
    store = open_store(dataclasses.replace(s3_location, bucket="no-such-bucket"))

    with pytest.raises(StoreUnusable, match=r"no-such-bucket at http.* does not exist: create it"):
        store.probe()
    for use in (
        lambda: store.put_if_absent("key", b""),
        lambda: store.get("key"),
        lambda: store.head("key"),
        lambda: list(store.list("")),
        lambda: store.delete(["key"]),
    ):
        with pytest.raises(StoreUnusable, match="does not exist"):
            use()


def test_the_probe_names_an_endpoint_that_nobody_listens_at(s3_location: StoreLocation) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        store = open_store(dataclasses.replace(s3_location, endpoint=endpoint))

        with pytest.raises(StoreUnusable, match=f"{endpoint} cannot be reached") as refusal:
            store.probe()

    assert "\n" not in str(refusal.value)


def test_the_probe_names_refused_credentials(store: ObjectStore, proxy: FaultyProxy) -> None:
    proxy.fault = always(ProxyAnswer(403))

    with pytest.raises(StoreUnusable, match="check the keys"):
        store.probe()


def test_the_probe_names_missing_credentials(
    s3_location: StoreLocation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    # Its own region, so that no client with credentials is reused.
    store = open_store(dataclasses.replace(s3_location, region="eu-west-9"))

    with pytest.raises(StoreUnusable, match="no credentials"):
        store.probe()


def test_an_endpoint_that_is_not_a_url_is_a_matter_of_configuration(
    s3_location: StoreLocation,
) -> None:
    store = open_store(dataclasses.replace(s3_location, endpoint="http://a b"))

    with pytest.raises(StoreUnusable, match="cannot be opened"):
        store.probe()
