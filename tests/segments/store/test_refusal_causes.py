"""Refusals of access that time mends: a full store, a wrong clock; and answers that mean exists."""

import dataclasses
import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from botocore.exceptions import ClientError, SSOTokenLoadError, TokenRetrievalError
from google.api_core.exceptions import from_http_status

from segments.errors import ObjectExists, StoreError, StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.store.bucket import BucketStore
from segments.store.cloud import azure, gcs
from segments.store.interface import ObjectStore
from segments.store.refusal_causes import CLOCK_SECS_MAX, MESSAGE_CHARACTERS_MAX, brief
from segments.store.s3.errors import refused
from tests.support.object_store.answers import (
    HASTY,
    SOON,
    TWO_PARTS,
    always,
    is_complete,
    is_put,
    on_first,
)
from tests.support.object_store.faulty_proxy import FaultyProxy, Forward, ProxyAnswer, Request

QUOTA, CLOCK, KEYS = "quota or limit", "correct the clock", "check the keys"
ACCOUNT = "check the account"


@pytest.fixture
def store(s3_location: StoreLocation, proxy: FaultyProxy) -> BucketStore:
    """Open a store whose requests pass through the proxy, and that soon asks again."""
    return BucketStore(dataclasses.replace(s3_location, endpoint=proxy.url), SOON)


def error_body(code: str, message: str = "") -> bytes:
    return f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


@pytest.mark.parametrize(
    ("code", "message", "status", "kind", "cause"),
    [
        ("QuotaExceeded", "", 403, StoreUnavailable, QUOTA),
        ("XMinioAdminBucketQuotaExceeded", "", 400, StoreUnavailable, QUOTA),
        (
            "AccessDenied",
            "Cannot upload files, storage cap exceeded.",
            403,
            StoreUnavailable,
            QUOTA,
        ),
        ("AccessDenied", "Transaction cap exceeded, see Caps", 403, StoreUnavailable, QUOTA),
        ("UserRateLimitExceeded", "", 403, StoreUnavailable, QUOTA),
        ("RequestTimeTooSkewed", "", 403, StoreUnavailable, CLOCK),
        ("AccessDenied", "Access Denied.", 403, StoreUnusable, KEYS),
        ("InvalidAccessKeyId", "", 403, StoreUnusable, KEYS),
        ("ExpiredToken", "The provided token has expired.", 400, StoreUnusable, "has expired"),
        ("AllAccessDisabled", "Disabled.", 403, StoreUnusable, ACCOUNT),
        ("InvalidObjectState", "The object is archived", 403, StoreUnusable, "is archived"),
    ],
)
def test_a_refusal_of_s3_names_its_cause(
    s3_location: StoreLocation,
    code: str,
    message: str,
    status: int,
    kind: type[StoreError],
    cause: str,
) -> None:
    refusal = refused(client_error(code, status, message), s3_location)

    assert type(refusal) is kind
    assert cause in str(refusal)
    assert ("credentials" in str(refusal)) == (cause in (KEYS, "has expired"))


def test_a_wrong_clock_is_seen_by_the_date_of_a_refusal(s3_location: StoreLocation) -> None:
    for offset in (-CLOCK_SECS_MAX - 60, CLOCK_SECS_MAX + 60):
        error = client_error("SignatureDoesNotMatch", 403, "", dated(offset))
        refusal = refused(error, s3_location)
        assert type(refusal) is StoreUnavailable
        assert ("behind" if offset > 0 else "ahead of") in str(refusal)

    for offset in (-CLOCK_SECS_MAX + 60, CLOCK_SECS_MAX - 60):
        error = client_error("SignatureDoesNotMatch", 403, "", dated(offset))
        assert type(refused(error, s3_location)) is StoreUnusable


@pytest.mark.parametrize("code", ["QuotaExceeded", "RequestTimeTooSkewed"])
def test_a_put_that_a_quota_or_a_clock_refused_is_tried_again(
    store: ObjectStore, proxy: FaultyProxy, code: str
) -> None:
    proxy.fault = on_first(is_put, always(ProxyAnswer(403, body=error_body(code))))

    store.put_if_absent("key", b"body")

    assert store.get("key") == b"body"


def test_a_put_that_a_quota_goes_on_refusing_ends_with_the_cause(
    s3_location: StoreLocation, proxy: FaultyProxy
) -> None:
    store = BucketStore(dataclasses.replace(s3_location, endpoint=proxy.url), HASTY)
    proxy.fault = always(ProxyAnswer(403, body=error_body("QuotaExceeded")))

    with pytest.raises(StoreUnavailable, match=QUOTA):
        store.put_if_absent("key", b"body")


@pytest.mark.parametrize(
    ("status", "body"), [(304, b""), (412, b""), (412, error_body("PreconditionFailed"))]
)
@pytest.mark.parametrize("content", [b"new", TWO_PARTS], ids=["whole", "parts"])
def test_each_answer_to_a_conditional_put_that_means_exists_is_read_as_such(
    store: ObjectStore, proxy: FaultyProxy, status: int, body: bytes, content: bytes
) -> None:
    store.put_if_absent("key", b"old")

    def answer(request: Request, forward: Forward) -> ProxyAnswer:
        is_decided = is_put(request) or is_complete(request)
        return ProxyAnswer(status, body=body) if is_decided else forward(request)

    proxy.fault = answer
    with pytest.raises(ObjectExists):
        store.put_if_absent("key", content)

    assert store.get("key") == b"old"


@pytest.mark.parametrize(
    ("code", "status", "offset_secs", "kind"),
    [
        ("AuthenticationFailed", 403, 0, StoreUnusable),
        ("AuthenticationFailed", 403, CLOCK_SECS_MAX + 60, StoreUnavailable),
        ("", 304, 0, ObjectExists),
    ],
)
def test_a_refusal_of_azure_names_its_cause(
    code: str, status: int, offset_secs: int, kind: type[StoreError]
) -> None:
    error: Any = HttpResponseError(code)
    error.status_code, error.error_code = status, code
    error.response = Response(dated(offset_secs))

    assert type(azure._answered(error, "the container", "write", is_bucket=False)) is kind


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (403, "rateLimitExceeded", StoreUnavailable),
        (403, "quotaExceeded", StoreUnavailable),
        (403, "forbidden", StoreUnusable),
        (304, "", ObjectExists),
    ],
)
def test_a_refusal_of_gcs_names_its_cause(status: int, reason: str, kind: type[StoreError]) -> None:
    errors: Sequence[dict[str, str]] = [{"reason": reason}]
    error = from_http_status(status, "no", errors=errors)  # type: ignore[no-untyped-call]

    assert type(gcs._answered(error, "the bucket", "write", is_bucket=False)) is kind


def test_a_stores_message_is_one_bounded_line() -> None:
    assert brief("a\n b") == "a b"
    assert len(brief("x" * (MESSAGE_CHARACTERS_MAX + 1))) == MESSAGE_CHARACTERS_MAX


class Response:
    """The part of an answer of Azure's library that has headers."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = {name.title(): value for name, value in headers.items()}


def dated(offset_secs: float) -> dict[str, str]:
    """The Date header of a server whose clock is ahead of this one's."""
    return {"date": formatdate(time.time() + offset_secs, usegmt=True)}


def client_error(
    code: str, status: int, message: str, headers: dict[str, str] | None = None
) -> ClientError:
    """An answer as botocore raises it."""
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}}
    reply: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}
    return ClientError(reply, "PutObject")


@pytest.mark.parametrize(
    "error",
    [
        SSOTokenLoadError(error_msg="the token has expired"),
        TokenRetrievalError(provider="sso", error_msg="the token has expired"),
    ],
)
def test_a_login_that_has_expired_is_not_tried_again(error: Exception) -> None:
    refusal = refused(error, StoreLocation("s3", "", "bucket", "", ""))

    assert type(refusal) is StoreUnusable
    assert "no credentials" in str(refusal)
    assert "the token has expired" in str(refusal)
