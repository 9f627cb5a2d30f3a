"""The race that a real store must survive: conditional writers of one key, one of them wins."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from segments.errors import ObjectExists
from segments.location import StoreLocation
from segments.store.bucket import BucketStore, requests_of
from segments.store.requests import WriteConflict
from segments.store.s3.requests import client_of
from segments.store.timeouts import DEFAULT_TIMEOUTS
from segments.store.upload_body import UploadBody

WRITERS = 12
STUCK_SECS = 60.0


def race(keys: list[str], prepare: Callable[[str, int], Callable[[], bool]]) -> dict[str, int]:
    """Let twelve writers write each key at once; returns who won, and refuses two winners.

    `prepare(key, writer)` returns the last step of a write, which says whether it won.
    """
    # A test that is timed out leaves fewer: they must not wait for the others for ever.
    start = threading.Barrier(WRITERS, timeout=STUCK_SECS)

    def write(key: str, writer: int) -> bool:
        finish = prepare(key, writer)
        start.wait()
        return finish()

    won = {}
    with ThreadPoolExecutor(WRITERS) as pool:
        for key in keys:
            outcomes = list(pool.map(write, [key] * WRITERS, range(WRITERS)))
            assert outcomes.count(True) == 1, (key, outcomes)
            won[key] = outcomes.index(True)
    return won


@pytest.mark.parametrize("keys", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_each_key_has_one_winner_among_twelve_writers(
    versitygw_location: StoreLocation, keys: int
) -> None:
    store = BucketStore(versitygw_location)

    def prepare(key: str, writer: int) -> Callable[[], bool]:
        def put() -> bool:
            try:
                store.put_if_absent(key, b"%d" % writer)
            except ObjectExists:
                return False
            return True

        return put

    won = race([f"raced/{number}" for number in range(keys)], prepare)

    assert all(store.get(key) == b"%d" % writer for key, writer in won.items())


@pytest.mark.long
@pytest.mark.parametrize("provider", ["gcs", "azure"])
@pytest.mark.parametrize("is_in_parts", [False, True], ids=["one request", "parts"])
def test_each_key_of_other_clouds_has_one_winner_among_twelve_writers(
    request: pytest.FixtureRequest, provider: str, is_in_parts: bool
) -> None:
    location: StoreLocation = request.getfixturevalue(f"{provider}_location")
    store, requests = BucketStore(location), requests_of(location, DEFAULT_TIMEOUTS)
    write = requests.put_parts if is_in_parts else requests.put

    def prepare(key: str, writer: int) -> Callable[[], bool]:
        def put() -> bool:
            try:
                write(f"{location.path}/{key}", UploadBody.of_bytes(b"%d" % writer))
            except (ObjectExists, WriteConflict):
                return False
            return True

        return put

    won = race([f"raced/{number}" for number in range(10)], prepare)

    assert all(store.get(key) == b"%d" % writer for key, writer in won.items())


@pytest.mark.long
@pytest.mark.parametrize("keys", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_each_upload_in_parts_has_one_winner_among_twelve_writers(
    versitygw_location: StoreLocation, keys: int
) -> None:
    location = versitygw_location
    client = client_of(location, DEFAULT_TIMEOUTS)

    def prepare(key: str, writer: int) -> Callable[[], bool]:
        name = f"{location.path}/{key}"
        made = client.create_multipart_upload(Bucket=location.bucket, Key=name)
        part = client.upload_part(
            Bucket=location.bucket,
            Key=name,
            UploadId=made["UploadId"],
            PartNumber=1,
            Body=b"%d" % writer,
        )

        def complete() -> bool:
            try:
                client.complete_multipart_upload(
                    Bucket=location.bucket,
                    Key=name,
                    UploadId=made["UploadId"],
                    IfNoneMatch="*",
                    MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != "PreconditionFailed":
                    raise
                return False
            return True

        return complete

    won = race([f"raced/{number}" for number in range(keys)], prepare)

    store = BucketStore(location)
    assert all(store.get(key) == b"%d" % writer for key, writer in won.items())
