"""Checksums of bodies in S3: each write has one, and each read is compared with it."""

import base64
import dataclasses
import hashlib

import pytest

from segments.errors import StoreError, StoreUnavailable
from segments.store.interface import ObjectStore
from segments.store.upload_body import PART_BYTES
from tests.segments.store.test_s3 import hasty, store
from tests.support.object_store.answers import TWO_PARTS
from tests.support.object_store.faulty_proxy import FaultyProxy, Forward, ProxyAnswer, Request

__all__ = ["hasty", "store"]  # Fixtures.


def test_a_body_that_does_not_match_the_stores_checksum_is_refused(
    hasty: ObjectStore, proxy: FaultyProxy
) -> None:
    hasty.put_if_absent("key", b"0123456789")
    digest = base64.b64encode(hashlib.sha256(b"0123456789").digest()).decode()

    def flip(request: Request, forward: Forward) -> ProxyAnswer:
        answer = forward(request)
        headers = [*answer.headers, ("x-amz-checksum-sha256", digest)]
        return dataclasses.replace(answer, headers=headers, body=b"0123456_89")

    proxy.fault = flip

    with pytest.raises(StoreUnavailable):
        hasty.get("key")


def test_a_body_that_does_not_match_the_objects_own_checksum_is_refused(
    hasty: ObjectStore, proxy: FaultyProxy
) -> None:
    hasty.put_if_absent("key", b"0123456789")

    def flip(request: Request, forward: Forward) -> ProxyAnswer:
        answer = forward(request)
        # A store may keep no checksum of its own.
        headers = [(n, v) for n, v in answer.headers if not n.lower().startswith("x-amz-checksum")]
        return dataclasses.replace(answer, headers=headers, body=b"0123456_89")

    proxy.fault = flip

    with pytest.raises(StoreUnavailable, match="not those that were put"):
        hasty.get("key")


def test_every_write_carries_a_checksum_of_its_body(store: ObjectStore, proxy: FaultyProxy) -> None:
    store.put_if_absent("small", b"body")
    store.put_if_absent("large", TWO_PARTS)

    writes = [r for r in proxy.requests if r.method == "PUT"]
    assert [len(r.body) for r in writes] == [4, PART_BYTES, 5]
    for request in writes:
        digest = hashlib.sha256(request.body)
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["x-amz-content-sha256"] == digest.hexdigest()
        assert headers["x-amz-checksum-sha256"] == base64.b64encode(digest.digest()).decode()


def test_an_echoed_checksum_of_other_bytes_is_an_error(
    store: ObjectStore, proxy: FaultyProxy
) -> None:
    echo = ("x-amz-checksum-sha256", base64.b64encode(hashlib.sha256(b"x").digest()).decode())

    def answer_other(request: Request, forward: Forward) -> ProxyAnswer:
        return dataclasses.replace(forward(request), headers=[echo])

    proxy.fault = answer_other

    with pytest.raises(StoreError, match="other bytes"):
        store.put_if_absent("key", b"body")
