"""The S3 store while the network or the store misbehaves."""

import dataclasses
import multiprocessing
import re
import time
from datetime import UTC, datetime

import boto3
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    NoCredentialsError,
)

from segments.errors import (
    ObjectExists,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store.bucket import BucketStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segments.store.s3.errors import refused
from tests.support.object_store.answers import (
    HASTY,
    SOON,
    TWO_PARTS,
    always,
    is_complete,
    is_get,
    is_put,
    lose_answer,
    on_first,
    truncate,
)
from tests.support.object_store.faulty_proxy import (
    DroppedConnection,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
)
from tests.support.object_store.operations import asks


@pytest.fixture
def store(s3_location: StoreLocation, proxy: FaultyProxy) -> BucketStore:
    """Open a store whose requests pass through the proxy, and that soon asks again."""
    return BucketStore(dataclasses.replace(s3_location, endpoint=proxy.url), SOON)


@pytest.fixture
def hasty(store: BucketStore) -> BucketStore:
    """Open the same store, soon to give up."""
    return dataclasses.replace(store, timeouts=HASTY)


def test_a_put_whose_answer_was_lost_is_recognised_as_its_own(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    proxy.fault = on_first(is_put, lose_answer)

    store.put_if_absent("key", b"body")

    assert store.get("key") == b"body"
    assert [r.method for r in proxy.requests[:3]] == ["PUT", "PUT", "GET"]


@pytest.mark.parametrize("other", [b"other", b"a longer body"])
def test_a_put_that_another_beat_is_refused_although_it_was_repeated(
    store: ObjectStore, proxy: FaultyProxy, s3_location: StoreLocation, other: bytes
) -> None:
    def other_writes(request: Request, forward: Forward) -> ProxyAnswer:
        open_store(s3_location).put_if_absent("key", other)
        raise DroppedConnection

    proxy.fault = on_first(is_put, other_writes)

    with pytest.raises(ObjectExists):
        store.put_if_absent("key", b"mine!")

    assert store.get("key") == other


def test_a_repeated_put_whose_object_is_gone_when_it_looks_is_not_reported(
    store: ObjectStore, proxy: FaultyProxy, s3_location: StoreLocation
) -> None:
    direct = open_store(s3_location)

    def deletes(request: Request, forward: Forward) -> ProxyAnswer:
        direct.delete(["key"])
        return forward(request)

    lost, gone = on_first(is_put, lose_answer), on_first(asks("GET"), deletes)
    proxy.fault = lambda request, forward: lost(request, lambda r: gone(r, forward))

    with pytest.raises(ObjectExists):
        store.put_if_absent("key", b"mine!")


def test_an_upload_whose_completion_was_lost_is_recognised_as_its_own(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    proxy.fault = on_first(is_complete, lose_answer)

    store.put_if_absent("key", TWO_PARTS)

    assert store.get("key") == TWO_PARTS


def test_an_upload_that_another_aborted_is_begun_again(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    def abort_first(request: Request, forward: Forward) -> ProxyAnswer:
        forward(Request("DELETE", request.target, {}, b""))
        return ProxyAnswer(404, body=b"<Error><Code>NoSuchUpload</Code></Error>")

    proxy.fault = on_first(is_complete, abort_first)

    store.put_if_absent("key", TWO_PARTS)

    assert store.get("key") == TWO_PARTS


@pytest.mark.parametrize("body", [b"small", TWO_PARTS], ids=["put", "multipart"])
def test_a_conflict_is_tried_again(store: ObjectStore, proxy: FaultyProxy, body: bytes) -> None:
    conflict = ProxyAnswer(409, body=b"<Error><Code>ConditionalRequestConflict</Code></Error>")
    is_last = is_put if body == b"small" else is_complete
    proxy.fault = on_first(is_last, always(conflict))

    store.put_if_absent("key", body)

    assert store.get("key") == body
    assert store.abort_stale_uploads("", time.time_ns() + 10**12) == 0


def test_a_failing_server_is_asked_again(store: ObjectStore, proxy: FaultyProxy) -> None:
    proxy.fault = on_first(is_put, always(ProxyAnswer(503)))

    store.put_if_absent("key", b"body")

    assert store.get("key") == b"body"


def test_a_body_that_breaks_off_is_read_again(store: ObjectStore, proxy: FaultyProxy) -> None:
    store.put_if_absent("key", b"0123456789")

    proxy.fault = on_first(is_get, truncate)
    assert store.get("key") == b"0123456789"
    proxy.fault = on_first(is_get, truncate)
    assert store.get_range("key", 0, 10) == b"0123456789"


def test_a_body_that_always_breaks_off_is_an_error_never_a_short_object(
    hasty: ObjectStore, proxy: FaultyProxy
) -> None:
    hasty.put_if_absent("key", b"0123456789")
    reader = hasty.open_input("key")
    proxy.fault = truncate

    with pytest.raises(StoreUnavailable):
        hasty.get("key")
    with pytest.raises(StoreUnavailable):
        hasty.get_range("key", 2, 5)
    with pytest.raises(StoreUnavailable):
        reader.read()


def test_a_key_that_was_not_deleted_is_an_error(hasty: ObjectStore, proxy: FaultyProxy) -> None:
    failure = b"<DeleteResult><Error><Key>k</Key><Code>InternalError</Code></Error></DeleteResult>"
    proxy.fault = always(ProxyAnswer(200, body=failure))

    with pytest.raises(StoreUnavailable, match="InternalError"):
        hasty.delete(["k"])


def test_only_uploads_started_before_the_given_time_are_aborted(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    def started_now(request: Request, forward: Forward) -> ProxyAnswer:
        # moto says that every upload was started in 2010.
        answer, now = forward(request), datetime.now(UTC).isoformat().encode()
        body = re.sub(rb"<Initiated>.*?<", b"<Initiated>" + now + b"<", answer.body)
        return dataclasses.replace(answer, body=body)

    proxy.fault = started_now
    location = store.location
    client = boto3.client("s3", endpoint_url=location.endpoint, region_name="us-east-1")
    for name in ("dataset/a", "dataset/b", "elsewhere/c"):
        client.create_multipart_upload(Bucket=location.bucket, Key=f"{location.path}/{name}")

    now = time.time_ns()
    assert store.abort_stale_uploads("dataset/", now - 3600 * 10**9) == 0
    assert store.abort_stale_uploads("dataset/", now + 3600 * 10**9) == 2
    assert store.abort_stale_uploads("dataset/", now + 3600 * 10**9) == 0
    assert store.abort_stale_uploads("", now + 3600 * 10**9) == 1


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("SlowDown", 503, StoreUnavailable),
        ("InternalError", 500, StoreUnavailable),
        ("", 502, StoreUnavailable),
        ("TooManyRequests", 429, StoreUnavailable),
        ("", 408, StoreUnavailable),
        ("RequestTimeout", 400, StoreUnavailable),
        ("BadDigest", 400, StoreUnavailable),
        ("AccessDenied", 403, StoreUnusable),
        ("ExpiredToken", 400, StoreUnusable),
        ("NoSuchBucket", 404, StoreUnusable),
        ("PermanentRedirect", 301, StoreUnusable),
        ("", 307, StoreUnusable),
        ("AuthorizationHeaderMalformed", 400, StoreUnusable),
        ("EntityTooLarge", 400, StoreError),
    ],
)
def test_an_answer_is_told_apart_by_what_the_caller_can_do(
    s3_location: StoreLocation, code: str, status: int, kind: type[StoreError]
) -> None:
    error = ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "PutObject",
    )

    assert type(refused(error, s3_location)) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectTimeoutError(endpoint_url="http://x"), StoreUnavailable),
        (NoCredentialsError(), StoreUnusable),
    ],
)
def test_no_answer_is_told_apart_by_what_the_caller_can_do(
    s3_location: StoreLocation, error: BotoCoreError, kind: type[StoreError]
) -> None:
    assert type(refused(error, s3_location)) is kind


@pytest.mark.long
def test_a_forked_child_makes_its_own_connections(store: ObjectStore) -> None:
    store.put_if_absent("key", b"body")

    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(store.get, ["key"] * 8) == [b"body"] * 8

    assert store.get("key") == b"body"
