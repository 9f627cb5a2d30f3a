"""The operations of the S3 store as a table: which request of each to break, and what it gives."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from segments.store.bucket import BucketStore
from segments.store.s3.requests import client_of
from segments.store.timeouts import DEFAULT_TIMEOUTS
from tests.support.object_store.faulty_proxy import Request

PART_BYTES = 5 << 20  # The least that S3 allows.
SMALL = bytes(range(256)) * 400
LARGE = SMALL * (PART_BYTES // len(SMALL) + 1)
FUTURE = time.time_ns() + 10**15

Breaks = Callable[[Request], bool]


@dataclass(frozen=True)
class Operation:
    """One call of the store, which of its requests to break, and what it must give."""

    name: str
    breaks: Breaks
    act: Callable[[BucketStore], object]
    expected: object = None
    writes: bytes | None = None  # To the key "new".
    asks_with_body: bool = False
    answers_with_body: bool = False

    def bears(self, fault: str) -> bool:
        """Whether the fault can befall this request at all."""
        if fault in ("cut_upload", "cut_request", "corrupt_request"):
            return self.asks_with_body
        if fault in ("reset_answer", "truncate", "shorten", "corrupt"):
            # A range whose bytes were changed is found by its reader: see the tests at the end.
            is_range = self.name in ("get_range", "open_input")
            return self.answers_with_body and not (fault == "corrupt" and is_range)
        return True


def asks(method: str, mark: str = "") -> Breaks:
    """Match requests of a method whose query begins with the mark; "" for those without one."""

    def matches(request: Request) -> bool:
        query = request.target.partition("?")[2]
        return request.method == method and (query.startswith(mark) if mark else not query)

    return matches


def asks_for_object(request: Request) -> bool:
    """Match a HEAD of an object, not of the bucket."""
    return request.method == "HEAD" and request.target.count("/") > 2


def asks_for_bucket(request: Request) -> bool:
    """Match a HEAD of the bucket."""
    return request.method == "HEAD" and not asks_for_object(request)


def read_input(store: BucketStore) -> bytes:
    """Read the middle of the object as a file."""
    with store.open_input("there") as file:
        file.seek(100)
        body: bytes = file.read(50_000)
        return body


def begin_upload(store: BucketStore) -> None:
    """Leave an upload behind."""
    client = client_of(store.location, DEFAULT_TIMEOUTS)
    name = f"{store.location.path}/stale/upload"
    client.create_multipart_upload(Bucket=store.location.bucket, Key=name)


def abort_uploads(store: BucketStore) -> int:
    """Abort what begin_upload left, at least."""
    return min(1, store.abort_stale_uploads("stale/", FUTURE))


def abort_and_look(store: BucketStore) -> int:
    """Abort what begin_upload left, then see what is left of it."""
    store.abort_stale_uploads("stale/", FUTURE)
    return store.abort_stale_uploads("stale/", FUTURE)


def is_clock_near(store: BucketStore) -> bool:
    """Compare the store's clock with ours."""
    return abs(store.now_nanos() - time.time_ns()) < 10 * 10**9


LISTED = ["listed/1", "listed/2", "listed/3"]
OPERATIONS = [
    Operation(
        "put",
        asks("PUT"),
        lambda store: store.put_if_absent("new", SMALL),
        writes=SMALL,
        asks_with_body=True,
    ),
    Operation(
        "create",
        asks("POST", "uploads"),
        lambda store: store.put_if_absent("new", LARGE),
        writes=LARGE,
        answers_with_body=True,
    ),
    Operation(
        "put_part",
        lambda request: request.method == "PUT" and "partNumber" in request.target,
        lambda store: store.put_if_absent("new", LARGE),
        writes=LARGE,
        asks_with_body=True,
    ),
    Operation(
        "complete",
        asks("POST", "uploadId"),
        lambda store: store.put_if_absent("new", LARGE),
        writes=LARGE,
        asks_with_body=True,
        answers_with_body=True,
    ),
    Operation("get", asks("GET"), lambda store: store.get("there"), SMALL, answers_with_body=True),
    Operation(
        "get_range",
        asks("GET"),
        lambda store: store.get_range("there", 100, 50_000),
        SMALL[100:50_100],
        answers_with_body=True,
    ),
    Operation("open_input", asks("GET"), read_input, SMALL[100:50_100], answers_with_body=True),
    Operation("head", asks_for_object, lambda store: store.head("there").size_bytes, len(SMALL)),
    Operation(
        "list",
        asks("GET", "list-type"),
        lambda store: [info.key for info in store.list("listed/")],
        LISTED,
        answers_with_body=True,
    ),
    Operation(
        "delete",
        asks("POST", "delete"),
        lambda store: store.delete(LISTED),
        asks_with_body=True,
        answers_with_body=True,
    ),
    Operation("list_uploads", asks("GET", "uploads"), abort_uploads, 1, answers_with_body=True),
    Operation("abort", asks("DELETE", "uploadId"), abort_and_look, 0),
    Operation("clock", asks_for_bucket, is_clock_near, True),
    Operation("probe", asks("PUT"), lambda store: store.probe(), asks_with_body=True),
]
