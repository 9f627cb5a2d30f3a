"""Findings about the stores that a process used, from uses that it made anyway."""

from dataclasses import replace
from pathlib import Path

import pytest

from meta.self_report import Progress, SelfReport
from meta.v1.status_pb2 import ProcessCheck
from segments import self_checks
from segments.errors import ObjectExists, ObjectMissing, StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.self_checks import SelfFinding, find_store_use
from segments.store.bucket import BucketStore
from segments.store.folder import FolderStore
from segments.store.timeouts import RequestTimeouts
from tests.support.object_store.moto import fresh_location


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
