"""Failures of other clouds' stores, each told in a sentence that says who must act."""

from dataclasses import replace
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from google.api_core.exceptions import from_http_status

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store import bucket
from segments.store.bucket import BucketStore
from segments.store.cloud import azure, gcs
from segments.store.timeouts import RequestTimeouts

BRIEF = RequestTimeouts(connect_secs=0.5, silence_secs=0.5, deadline_secs=0.2, wait_secs_min=0.01)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(params=["gcs", "azure"])
def location(request: pytest.FixtureRequest) -> StoreLocation:
    found: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return found


def test_a_missing_bucket_is_for_an_operator(location: StoreLocation) -> None:
    store = BucketStore(replace(location, bucket="absent"), BRIEF)

    for act in (
        store.probe,
        lambda: store.get("key"),
        lambda: store.put_if_absent("key", b""),
        lambda: list(store.list("")),
    ):
        with pytest.raises(StoreUnusable, match=r"absent at .* does not exist"):
            act()


def test_a_server_that_is_away_is_tried_again_until_the_deadline(location: StoreLocation) -> None:
    path = location.endpoint.split("/", 3)[3:]
    store = BucketStore(replace(location, endpoint="/".join([NOBODY, *path])), BRIEF)

    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.get("key")
    with pytest.raises(StoreUnusable, match="failed the start-up check"):
        store.probe()


def test_refused_credentials_are_for_an_operator(
    azure_location: StoreLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", "b3RoZXI=")
    bucket._requests.cache_clear()
    try:
        with pytest.raises(StoreUnusable, match="refused the credentials to list"):
            BucketStore(replace(azure_location, path="other"), BRIEF).probe()
    finally:
        bucket._requests.cache_clear()


def test_without_credentials_it_says_where_they_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", f"{tmp_path}/absent.json")
    store = BucketStore(StoreLocation.from_url("gs://bucket/without"), BRIEF)

    with pytest.raises(StoreUnusable, match="GOOGLE_APPLICATION_CREDENTIALS"):
        store.probe()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ServerBusy", 503, StoreUnavailable),
        ("", 408, StoreUnavailable),
        ("", 429, StoreUnavailable),
        ("Md5Mismatch", 400, StoreUnavailable),
        ("", 206, StoreUnavailable),
        ("", 501, StoreError),
        ("InvalidInput", 400, StoreError),
        ("AuthorizationFailure", 403, StoreUnusable),
        ("BlobAlreadyExists", 409, ObjectExists),
        ("BlobNotFound", 404, ObjectMissing),
    ],
)
def test_an_answer_of_azure_is_told_apart_by_what_the_caller_can_do(
    code: str, status: int, kind: type[StoreError]
) -> None:
    error: Any = HttpResponseError(code)
    error.status_code, error.error_code = status, code

    assert type(azure._answered(error, "the container", "write", is_bucket=False)) is kind


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ("", 503, StoreUnavailable),
        ("", 429, StoreUnavailable),
        ("Provided CRC32C does not match", 400, StoreUnavailable),
        ("", 501, StoreError),
        ("Invalid argument", 400, StoreError),
        ("", 403, StoreUnusable),
        ("", 412, ObjectExists),
        ("", 404, ObjectMissing),
    ],
)
def test_an_answer_of_gcs_is_told_apart_by_what_the_caller_can_do(
    message: str, status: int, kind: type[StoreError]
) -> None:
    error = from_http_status(status, message)  # type: ignore[no-untyped-call]

    assert type(gcs._answered(error, "the bucket", "write", is_bucket=False)) is kind


@pytest.mark.parametrize(
    ("url", "module"),
    [
        ("gs://bucket/nowhere", "segments.store.cloud.gcs"),
        ("az://box/nowhere?account=logs1", "segments.store.cloud.azure"),
    ],
)
def test_without_its_package_a_store_says_what_to_install(
    url: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    location = StoreLocation.from_url(url)

    with pytest.raises(StoreUnusable, match=rf'pip install "segplane\[{location.provider}\]"'):
        BucketStore(location, BRIEF).probe()
