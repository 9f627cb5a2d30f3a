"""Every operation of the S3 store under every fault of the network and of the server behind it."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from segments.errors import ObjectExists, ObjectMissing, StoreError, StoreUnavailable
from segments.store import bucket
from segments.store.bucket import BucketStore
from segments.store.timeouts import RequestTimeouts
from tests.support.object_store import faults
from tests.support.object_store.faulty_proxy import (
    Fault,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
    running_proxy,
)
from tests.support.object_store.moto import fresh_location
from tests.support.object_store.operations import (
    LARGE,
    LISTED,
    OPERATIONS,
    PART_BYTES,
    SMALL,
    Breaks,
    Operation,
    asks,
    begin_upload,
)
from tests.support.object_store.versitygw import find_versitygw

ONCE = RequestTimeouts(silence_secs=0.5, deadline_secs=60.0, wait_secs_min=0.01)
ALWAYS = replace(ONCE, deadline_secs=0.2)
OVERTIME_SECS = 3 * ALWAYS.silence_secs + 8.0  # The last try, an abort, a busy machine.

FAULTS: dict[str, Fault] = {
    "slow_down": faults.slow_down,
    "internal_error": faults.internal_error,
    "silence": faults.silence,
    "late_silence": faults.late_silence,
    "drop": faults.drop,
    "lose_answer": faults.lose_answer,
    "fail_after": faults.fail_after,
    "reset_answer": faults.reset_answer,
    "truncate": faults.truncate,
    "shorten": faults.shorten,
    "corrupt": faults.corrupt,
    "corrupt_request": faults.corrupt_request,
    "cut_request": faults.slow_down,  # Needs the proxy: see `fault_of`.
    "cut_upload": faults.slow_down,
}
ONCE_EACH = [(o, f) for o, f in itertools.product(OPERATIONS, FAULTS) if o.bears(f)]
FOR_EVER = [
    (o, f)
    for o, f in ONCE_EACH
    if f in ("slow_down", "lose_answer", "truncate", "shorten", "corrupt", "corrupt_request")
    or (f == "silence" and o.name in ("put", "complete", "get"))
]


@pytest.fixture(scope="session")
def upstream(request: pytest.FixtureRequest) -> str:
    """Name VersityGW if it is installed, else moto."""
    endpoint: str = request.getfixturevalue(
        "versitygw_endpoint" if find_versitygw() else "s3_endpoint"
    )
    return endpoint


@pytest.fixture
def direct(upstream: str, aws_credentials: None, monkeypatch: pytest.MonkeyPatch) -> BucketStore:
    """Open a store without a proxy, with something to read, list, delete and abort."""
    monkeypatch.setattr(bucket, "PART_BYTES", PART_BYTES)
    store = BucketStore(fresh_location(upstream))
    for key, body in [("there", SMALL), *((key, b"") for key in LISTED)]:
        store.put_if_absent(key, body)
    begin_upload(store)
    return store


@pytest.fixture(scope="session")
def one_proxy(upstream: str) -> Iterator[FaultyProxy]:
    """Run a proxy in front of the server; one, as a boto3 client for each would take longer."""
    with running_proxy(upstream) as server:
        yield server


@pytest.fixture
def broken(one_proxy: FaultyProxy) -> Iterator[FaultyProxy]:
    """Give the proxy, whole again afterwards."""
    yield one_proxy
    one_proxy.mend()


def behind(proxy: FaultyProxy, direct: BucketStore, timeouts: RequestTimeouts) -> BucketStore:
    """Open the same store through the proxy."""
    return BucketStore(replace(direct.location, endpoint=proxy.url), timeouts)


def break_with(proxy: FaultyProxy, breaks: Breaks, name: str, *, is_once: bool) -> None:
    """Let a fault befall the first matching request, or all."""
    if name == "cut_upload":
        cut: list[Request] = []

        def cuts(request: Request) -> bool:
            if not breaks(request) or cut:
                return False
            cut.append(request)
            return True

        proxy.cuts_upload = cuts
        return
    fault = faults.cut_request(proxy) if name == "cut_request" else FAULTS[name]
    proxy.fault = (faults.on_first if is_once else faults.on_each)(breaks, fault)


def written(direct: BucketStore) -> bytes | None:
    """Content of the object under the key."""
    try:
        return direct.get("new")
    except ObjectMissing:
        return None


def need_checking_server(name: str) -> None:
    """Skip where only a server that checks what it gets would do."""
    if name in ("corrupt_request", "cut_request") and not find_versitygw():
        pytest.skip("versitygw is not installed, and moto stores what was changed on the way")


def names(case: object) -> str:
    """Name a case."""
    return case.name if isinstance(case, Operation) else str(case)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("operation", "fault"), ONCE_EACH, ids=names)
def test_a_fault_that_passes_changes_nothing(
    direct: BucketStore, broken: FaultyProxy, operation: Operation, fault: str
) -> None:
    need_checking_server(fault)
    break_with(broken, operation.breaks, fault, is_once=True)

    found = operation.act(behind(broken, direct, ONCE))

    assert found == operation.expected
    assert written(direct) == operation.writes
    left = {info.key for info in direct.list("")} - {"new", "probe/put-if-absent"}
    assert left == {"there"} | (set() if operation.name == "delete" else set(LISTED))


def outcome_of(operation: Operation, store: BucketStore) -> str:
    """Say whether an operation was done, failed, or ended in what is not so."""
    try:
        found = operation.act(store)
    except (ObjectExists, ObjectMissing) as error:
        return f"wrong: {error}"
    except StoreError:
        return "failed"
    return "done" if found == operation.expected else f"wrong: {found!r}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("operation", "fault"), FOR_EVER, ids=names)
def test_a_fault_that_stays_is_an_error_by_the_deadline_and_nothing_half_done(
    direct: BucketStore, broken: FaultyProxy, operation: Operation, fault: str
) -> None:
    need_checking_server(fault)
    break_with(broken, operation.breaks, fault, is_once=False)
    store = behind(broken, direct, ALWAYS)
    started = time.monotonic()

    outcome = outcome_of(operation, store)

    # A lost answer may yet be made up for by looking at what stands.
    assert outcome == "failed" or (outcome == "done" and written(direct) == operation.writes)
    assert time.monotonic() - started < ALWAYS.deadline_secs + OVERTIME_SECS
    assert written(direct) in (None, operation.writes)
    assert direct.get("there") == SMALL


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["put", "multipart"])
def test_a_lost_answer_to_a_write_that_another_beat_is_that_it_exists(
    direct: BucketStore, broken: FaultyProxy, body: bytes
) -> None:
    def other_writes(request: Request, forward: Forward) -> ProxyAnswer:
        direct.put_if_absent("new", b"?" * len(body))
        return faults.drop(request, forward)

    last = asks("PUT") if body == SMALL else asks("POST", "uploadId")
    broken.fault = faults.on_first(last, other_writes)

    with pytest.raises(ObjectExists):
        behind(broken, direct, ONCE).put_if_absent("new", body)

    assert direct.get("new") == b"?" * len(body)


def test_a_damaged_comparison_does_not_make_our_object_anothers(
    direct: BucketStore, broken: FaultyProxy
) -> None:
    lost = faults.on_first(asks("PUT"), faults.lose_answer)
    damaged = faults.on_first(asks("GET"), faults.corrupt)
    broken.fault = lambda request, forward: lost(request, lambda r: damaged(r, forward))

    behind(broken, direct, ONCE).put_if_absent("new", SMALL)

    assert [request.method for request in broken.requests] == ["PUT", "PUT", "GET", "GET"]


def test_a_store_that_sends_all_for_a_range_is_refused(
    direct: BucketStore, broken: FaultyProxy
) -> None:
    def forget_range(request: Request, forward: Forward) -> ProxyAnswer:
        answer = forward(request)
        return replace(answer, status=200, headers=(), body=SMALL)

    broken.fault = faults.on_each(asks("GET"), forget_range)

    with pytest.raises(StoreUnavailable, match="asked for bytes from 100 on"):
        behind(broken, direct, ALWAYS).get_range("there", 100, 10)
