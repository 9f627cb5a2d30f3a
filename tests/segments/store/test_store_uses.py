"""Findings about the stores that a process used, from uses that it made anyway."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from meta.self_report import Progress, SelfReport
from meta.v1.status_pb2 import ProcessCheck
from segments import self_checks
from segments.errors import ObjectExists, ObjectMissing, StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.request_counts import request_counts
from segments.self_checks import SelfFinding, find_store_use
from segments.store.bucket import BucketStore
from segments.store.folder import FolderStore
from segments.store.timeouts import RequestTimeouts
from segments.store.upload_body import PART_BYTES
from tests.support.object_store.faults import on_each
from tests.support.object_store.faulty_proxy import FaultyProxy, ProxyAnswer, Request
from tests.support.object_store.moto import fresh_location

# The requests of each kind of use, and a use.
USES: dict[str, tuple[Callable[[Request], bool], Callable[[BucketStore], object]]] = {
    "read": (lambda r: r.method == "GET" and "list-type" not in r.target, lambda s: s.get("a")),
    "list": (lambda r: r.method == "GET" and "list-type" in r.target, lambda s: list(s.list(""))),
    "write": (lambda r: r.method == "PUT", lambda s: s.put_if_absent(uuid4().hex, b"1")),
    "delete": (lambda r: r.method in ("POST", "DELETE"), lambda s: s.delete(["b"])),
}


@pytest.fixture(autouse=True)
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the uses of other tests."""
    monkeypatch.setattr(self_checks, "_last_uses", {})


def test_a_folder_fails_from_a_use_that_failed_to_the_next_one_that_did_not(tmp_path: Path) -> None:
    store = FolderStore(StoreLocation.from_url((tmp_path / "objects").as_uri()))
    assert find_store_use() is None
    with pytest.raises(StoreUnusable):
        store.put_if_absent("a", b"1")
    failed = find_store_use()
    store.root.mkdir()
    store.put_if_absent("a", b"1")

    missing = f"failed 0 s ago: folder {store.root} is missing: mount it or create it"
    assert failed == SelfFinding("store", is_ok=False, text=missing)
    assert find_store_use() == SelfFinding("store", is_ok=True, text="answered 0 s ago")


@pytest.mark.parametrize("kind", USES)
def test_a_failure_counts_until_a_use_of_its_kind_succeeds(
    s3_endpoint: str, proxy: FaultyProxy, aws_credentials: None, kind: str
) -> None:
    store = BucketStore(fresh_location(proxy.url))
    store.put_if_absent("a", b"1")
    is_of_kind, use = USES[kind]
    proxy.fault = on_each(is_of_kind, lambda *_: ProxyAnswer(403))

    with pytest.raises(StoreUnusable):
        use(store)
    for other in USES.keys() - {kind}:
        USES[other][1](store)
    denied = find_store_use()
    proxy.mend()
    use(store)

    assert denied is not None
    assert not denied.is_ok
    assert find_store_use() == SelfFinding("store", is_ok=True, text="answered 0 s ago")


def test_a_read_of_a_bucket_that_was_missing_for_a_while_ends_its_failure(
    s3_endpoint: str, proxy: FaultyProxy, aws_credentials: None
) -> None:
    store = BucketStore(fresh_location(proxy.url))
    store.put_if_absent("a", b"1")
    proxy.fault = lambda *_: ProxyAnswer(404)
    with pytest.raises(StoreUnusable):
        store.get("a")
    missing = find_store_use()
    proxy.mend()

    store.get("a")

    assert missing is not None
    assert not missing.is_ok
    assert find_store_use() == SelfFinding("store", is_ok=True, text="answered 0 s ago")


def test_an_error_before_the_store_was_asked_ends_no_failure(tmp_path: Path) -> None:
    store = FolderStore(StoreLocation.from_url((tmp_path / "missing").as_uri()))
    with pytest.raises(StoreUnusable):
        store.put_if_absent("a", b"1")

    with pytest.raises(ValueError, match="key"):
        store.put_if_absent("../a", b"1")

    failed = find_store_use()
    assert failed is not None
    assert not failed.is_ok


def test_a_deletion_in_a_folder_is_a_use(tmp_path: Path) -> None:
    store = FolderStore(StoreLocation.from_url((tmp_path / "missing").as_uri()))
    with pytest.raises(StoreUnusable):
        store.delete(["a"])

    failed = find_store_use()

    assert failed is not None
    assert not failed.is_ok


def test_an_object_that_exists_or_is_missing_is_an_answer(tmp_path: Path) -> None:
    store = FolderStore(StoreLocation.from_url(tmp_path.as_uri()))
    store.put_if_absent("a", b"1")

    with pytest.raises(ObjectExists):
        store.put_if_absent("a", b"1")
    with pytest.raises(ObjectMissing):
        store.get("b")

    assert find_store_use() == SelfFinding("store", is_ok=True, text="answered 0 s ago")


def test_a_bucket_that_does_not_answer_counts_before_one_that_does(
    s3_endpoint: str,
    aws_credentials: None,
) -> None:
    location = fresh_location(s3_endpoint)
    brief = RequestTimeouts(deadline_secs=0.0)
    closed = BucketStore(replace(location, endpoint="http://127.0.0.1:1"), brief)
    with pytest.raises(StoreUnavailable):
        closed.put_if_absent("a", b"1")
    BucketStore(location).put_if_absent("a", b"1")

    message = SelfReport("gateway", "host-1", "settings", Progress()).message()

    assert message is not None
    failed = next(check for check in message.checks if check.name == "store")
    assert not failed.is_ok
    assert failed.text.startswith("failed ")


def test_a_failure_that_no_use_repeated_for_an_hour_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(StoreLocation.from_url((tmp_path / "missing").as_uri()))
    with pytest.raises(StoreUnusable):
        store.get("a")
    monkeypatch.setattr(self_checks, "FAILURE_SECS", 0.0)

    assert find_store_use() is None


def test_findings_of_what_runs_the_tasks_are_checks_of_a_report() -> None:
    dead = SelfFinding("java", is_ok=False, text="Java 17 ended with code 137")

    message = SelfReport("nursery", "a", "s", Progress(), find=lambda: [dead]).message()

    assert message is not None
    assert ProcessCheck(name="java", text=dead.text) in message.checks


def test_the_counted_requests_are_those_that_the_store_gets(
    s3_endpoint: str, proxy: FaultyProxy, aws_credentials: None
) -> None:
    store, seen = BucketStore(fresh_location(proxy.url)), list[Request]()
    store.put_if_absent("warm", b"1")

    def note(request: Request, forward: Callable[[Request], ProxyAnswer]) -> ProxyAnswer:
        seen.append(request)
        return forward(request)

    proxy.fault = note
    before = request_counts()
    store.put_if_absent("small", b"1")
    store.put_if_absent("large", bytes(PART_BYTES + 1))
    store.get("small")
    store.head("small")
    store.get_range("large", 7, 9)
    with pytest.raises(ObjectExists):
        store.put_if_absent("small", b"2")
    assert [item.key for item in store.list("")] == ["large", "small", "warm"]
    store.delete(["large"])
    after = request_counts()

    lists = [request for request in seen if "list-type" in request.target]
    reads = [request for request in seen if request.method in ("GET", "HEAD")]
    deletions = [request for request in seen if "delete" in request.target]
    assert after.reads - before.reads == len(reads) - len(lists) == 3
    assert after.writes - before.writes == len(seen) - 3 - len(deletions) == 7
