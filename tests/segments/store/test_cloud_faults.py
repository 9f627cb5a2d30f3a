"""Every operation of the stores of other clouds under faults of the network and of the server."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from segments.errors import ObjectExists, ObjectMissing, StoreError, StoreUnusable
from segments.location import StoreLocation
from segments.store import bucket
from segments.store.bucket import BucketStore
from segments.store.cloud import azure, gcs
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

pytestmark = pytest.mark.slow

PART_BYTES = 1 << 20
SMALL = bytes(range(256)) * 400
LARGE = SMALL * (PART_BYTES // len(SMALL) + 2)
LISTED = ["listed/1", "listed/2", "listed/3"]

ONCE = RequestTimeouts(silence_secs=0.5, deadline_secs=60.0, wait_secs_min=0.01)
ALWAYS = replace(ONCE, deadline_secs=0.2)
OVERTIME_SECS = 3 * ALWAYS.silence_secs + 8.0

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
}


@dataclass(frozen=True)
class Step:
    """One call of the store, and the request of it that is broken: its method, and what it names.

    `gcs` and `azure` are the method and a part of the target; azure's "" is a target without
    `comp`.
    """

    name: str
    gcs: tuple[str, str]
    azure: tuple[str, str]
    act: Callable[[BucketStore], object]
    expected: object = None
    writes: bytes | None = None
    asks_with_body: bool = False
    answers_with_body: bool = False

    def breaks(self, provider: str) -> Callable[[Request], bool]:
        """Match the request."""
        method, mark = self.gcs if provider == "gcs" else self.azure

        def matches(request: Request) -> bool:
            if request.method != method:
                return False
            if provider == "azure" and not mark:
                return "comp=" not in request.target
            return mark in request.target

        return matches

    def bears(self, provider: str, fault: str) -> bool:
        """Whether the fault can befall this request and can be noticed."""
        if fault == "corrupt_request":
            return self.asks_with_body
        if fault in ("reset_answer", "truncate", "shorten"):
            return self.answers_with_body and not (provider == "azure" and self.writes)
        if fault == "corrupt":
            return self.name == "get"
        return True


STEPS = [
    Step(
        "put",
        ("POST", "uploadType=multipart"),
        ("PUT", ""),
        lambda store: store.put_if_absent("new", SMALL),
        writes=SMALL,
        asks_with_body=True,
        answers_with_body=True,
    ),
    Step(
        "part",
        ("PUT", "upload_id"),
        ("PUT", "comp=block&"),
        lambda store: store.put_if_absent("new", LARGE),
        writes=LARGE,
        asks_with_body=True,
    ),
    Step(
        "begin or complete",
        ("POST", "uploadType=resumable"),
        ("PUT", "comp=blocklist"),
        lambda store: store.put_if_absent("new", LARGE),
        writes=LARGE,
    ),
    Step(
        "get",
        ("GET", "/download/"),
        ("GET", ""),
        lambda store: store.get("there"),
        SMALL,
        answers_with_body=True,
    ),
    Step(
        "get_range",
        ("GET", "/download/"),
        ("GET", ""),
        lambda store: store.get_range("there", 100, 50_000),
        SMALL[100:50_100],
        answers_with_body=True,
    ),
    Step(
        "head",
        ("GET", "/o/"),
        ("HEAD", ""),
        lambda store: store.head("there").size_bytes,
        len(SMALL),
    ),
    Step(
        "list",
        ("GET", "/o?"),
        ("GET", "comp=list"),
        lambda store: [info.key for info in store.list("listed/")],
        LISTED,
        answers_with_body=True,
    ),
    Step("delete", ("DELETE", ""), ("DELETE", ""), lambda store: store.delete(LISTED)),
    Step(
        "clock",
        ("GET", "/o?"),
        ("GET", "comp=list"),
        lambda store: abs(store.now_nanos() - time.time_ns()) < 10 * 10**9,
        True,
    ),
    Step("probe", ("POST", ""), ("PUT", ""), lambda store: store.probe()),
]
CASES = [
    pytest.param(provider, step, fault, id=f"{provider}-{step.name}-{fault}")
    for provider, step, fault in itertools.product(("gcs", "azure"), STEPS, FAULTS)
    if step.bears(provider, fault)
]
LASTING = [
    case
    for case in CASES
    if case.values[2] in ("slow_down", "lose_answer", "truncate", "corrupt", "corrupt_request")
]


@pytest.fixture
def direct(
    provider: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> BucketStore:
    """Open a store without a proxy, with something to read, list and delete."""
    for module in (azure, gcs, bucket):
        monkeypatch.setattr(module, "PART_BYTES", PART_BYTES)
    monkeypatch.setattr("segments.store.upload_body.PART_BYTES", PART_BYTES)
    location: StoreLocation = request.getfixturevalue(f"{provider}_location")
    store = BucketStore(location)
    for key, body in [("there", SMALL), *((key, b"") for key in LISTED)]:
        store.put_if_absent(key, body)
    return store


@pytest.fixture
def broken(direct: BucketStore) -> Iterator[FaultyProxy]:
    host = "/".join(direct.location.endpoint.split("/")[:3])
    with running_proxy(host) as server:
        yield server


def behind(proxy: FaultyProxy, direct: BucketStore, timeouts: RequestTimeouts) -> BucketStore:
    """Open the same store through the proxy."""
    path = "/".join(direct.location.endpoint.split("/")[3:])
    endpoint = f"{proxy.url}/{path}" if path else proxy.url
    return BucketStore(replace(direct.location, endpoint=endpoint), timeouts)


def written(direct: BucketStore) -> bytes | None:
    """Content of the object under the key."""
    try:
        return direct.get("new")
    except ObjectMissing:
        return None


@pytest.mark.parametrize(("provider", "step", "fault"), CASES)
def test_a_fault_that_passes_changes_nothing(
    direct: BucketStore, broken: FaultyProxy, provider: str, step: Step, fault: str
) -> None:
    broken.fault = faults.on_first(step.breaks(provider), FAULTS[fault])

    found = step.act(behind(broken, direct, ONCE))

    assert found == step.expected
    assert written(direct) == step.writes
    left = {info.key for info in direct.list("")} - {"new", "probe/put-if-absent"}
    assert left == {"there"} | (set() if step.name == "delete" else set(LISTED))


@pytest.mark.parametrize(("provider", "step", "fault"), LASTING)
def test_a_fault_that_stays_is_an_error_by_the_deadline_and_nothing_half_done(
    direct: BucketStore, broken: FaultyProxy, provider: str, step: Step, fault: str
) -> None:
    broken.fault = faults.on_each(step.breaks(provider), FAULTS[fault])
    store = behind(broken, direct, ALWAYS)
    started = time.monotonic()

    try:
        outcome = "done" if step.act(store) == step.expected else "wrong"
    except (ObjectExists, ObjectMissing) as error:
        outcome = f"wrong: {error}"
    except StoreError:
        outcome = "failed"

    # A lost answer may yet be made up for by looking at what stands.
    assert outcome == "failed" or (outcome == "done" and written(direct) == step.writes)
    assert time.monotonic() - started < ALWAYS.deadline_secs + OVERTIME_SECS
    assert written(direct) in (None, step.writes)
    assert direct.get("there") == SMALL


@pytest.mark.parametrize("provider", ["gcs", "azure"])
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["put", "parts"])
@pytest.mark.parametrize("more", [b"", b"?"], ids=["as long", "longer"])
def test_a_lost_answer_to_a_write_that_another_beat_is_that_it_exists(
    direct: BucketStore, broken: FaultyProxy, provider: str, body: bytes, more: bytes
) -> None:
    other = b"?" * len(body) + more

    def other_writes(request: Request, forward: Forward) -> ProxyAnswer:
        direct.put_if_absent("new", other)
        return faults.drop(request, forward)

    step = STEPS[0] if body == SMALL else STEPS[2]
    broken.fault = faults.on_first(step.breaks(provider), other_writes)

    with pytest.raises(ObjectExists):
        behind(broken, direct, ONCE).put_if_absent("new", body)

    assert direct.get("new") == other


@pytest.mark.parametrize("provider", ["gcs", "azure"])
def test_a_store_that_ignores_the_condition_is_unusable(
    direct: BucketStore, broken: FaultyProxy, provider: str
) -> None:
    def forget(request: Request, forward: Forward) -> ProxyAnswer:
        kept = {k: v for k, v in request.headers.items() if k.lower() != "if-none-match"}
        target = request.target.replace("ifGenerationMatch=0", "")
        return forward(replace(request, headers=kept, target=target))

    broken.fault = faults.on_each(lambda _: True, forget)

    with pytest.raises(StoreUnusable):
        behind(broken, direct, ONCE).probe()
