"""Deleting what is tombstoned: pages, refusals, hostile keys and a meta that goes away."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dataplane import deletion_permit
from janitor import jobs
from janitor.config import Settings
from janitor.jobs import Tools, deletable_key
from janitor.loop import Job, run_once
from meta.client import MetaClient
from meta.errors import MetaError
from meta.metrics import JANITOR
from meta.process.shutdown import Shutdown
from meta.v1.segment_deletion_pb2 import TombstonedSegmentInfo
from segments.ids import new_uuid7
from segments.keys import merged_prefix, new_merged_key, new_table_key, split_key
from segments.location import StoreLocation, Stores
from segments.store.open import open_store
from tests.support.meta.scripted_deletion import Deletion, serve

LOCATION = StoreLocation("s3", "http://127.0.0.1:1", "bucket", "us-east-1", "base")


@pytest.fixture
def deletion() -> Deletion:
    return Deletion()


@pytest.fixture
def fake_tools(deletion: Deletion, tmp_path: Path) -> Iterator[Tools]:
    meta_location = StoreLocation.from_url(tmp_path.as_uri())
    with serve(deletion) as address, MetaClient(address) as client:
        yield Tools(
            client, open_store(meta_location), Stores(meta_location), Settings(), Shutdown(), "j"
        )


def tombstoned(
    location: StoreLocation, dataset_id: str, prefix: str, name: str
) -> TombstonedSegmentInfo:
    info = TombstonedSegmentInfo(segment_id=str(new_uuid7()), dataset_id=dataset_id)
    at = info.cloud_object_key.prefix.bucket
    at.provider, at.endpoint, at.bucket = location.provider, location.endpoint, location.bucket
    at.region, at.path = location.region, location.path
    info.cloud_object_key.prefix.prefix = prefix
    info.cloud_object_key.key = name
    return info


def put_tombstoned(tools: Tools, deletion: Deletion, count: int) -> list[str]:
    dataset_id = str(new_uuid7())
    keys = [new_merged_key(dataset_id) for _ in range(count)]
    for key in keys:
        tools.store.put_if_absent(key, b"")
        deletion.tombstoned.append(
            tombstoned(tools.meta_stores.default, dataset_id, *split_key(key))
        )
    return keys


def listed(tools: Tools) -> list[str]:
    return [info.key for info in tools.store.list("")]


def test_pages_are_deleted_and_confirmed_until_none_is_left(
    fake_tools: Tools, deletion: Deletion
) -> None:
    put_tombstoned(fake_tools, deletion, 2_010)

    jobs.delete_tombstoned(fake_tools)

    assert listed(fake_tools) == []
    assert [len(ids) for ids in deletion.confirms] == [1_000, 1_000, 10]
    assert deletion.polls == 3


def test_a_segment_that_may_not_be_deleted_keeps_no_other_waiting(
    fake_tools: Tools, deletion: Deletion
) -> None:
    fake_tools.store.put_if_absent("precious", b"")
    deletion.tombstoned.append(
        tombstoned(fake_tools.meta_stores.default, str(new_uuid7()), "", "precious")
    )
    put_tombstoned(fake_tools, deletion, 2)

    jobs.delete_tombstoned(fake_tools)

    assert listed(fake_tools) == ["precious"]
    assert len(deletion.tombstoned) == 1


def test_a_page_of_nothing_deletable_is_not_asked_for_again(
    fake_tools: Tools, deletion: Deletion
) -> None:
    bad = tombstoned(fake_tools.meta_stores.default, str(new_uuid7()), "", "precious")
    deletion.tombstoned += [bad] * 1_000

    jobs.delete_tombstoned(fake_tools)

    assert deletion.polls == 1
    assert deletion.confirms == []


def test_a_refused_confirmation_ends_the_round(fake_tools: Tools, deletion: Deletion) -> None:
    put_tombstoned(fake_tools, deletion, 1_500)
    deletion.refusal = "SEGMENT_LIVE"

    jobs.delete_tombstoned(fake_tools)

    assert deletion.polls == 1


def test_a_confirmation_that_failed_is_made_up_for(fake_tools: Tools, deletion: Deletion) -> None:
    put_tombstoned(fake_tools, deletion, 3)
    deletion.is_away = True
    with pytest.raises(MetaError):
        jobs.delete_tombstoned(fake_tools)
    assert listed(fake_tools) == []
    deletion.is_away = False

    jobs.delete_tombstoned(fake_tools)

    assert deletion.tombstoned == []


def test_objects_that_cannot_be_deleted_are_not_confirmed(
    fake_tools: Tools, deletion: Deletion, tmp_path: Path
) -> None:
    put_tombstoned(fake_tools, deletion, 1)
    tmp_path.rename(tmp_path.with_name("unmounted"))

    done = run_once(Job("delete_tombstoned", 1, jobs.delete_tombstoned), lambda: fake_tools)

    assert done != ""
    assert deletion.confirms == []


def test_a_shutdown_is_heeded_before_the_next_page(fake_tools: Tools, deletion: Deletion) -> None:
    fake_tools.shutdown.request()

    jobs.delete_tombstoned(fake_tools)

    assert deletion.polls == 0


def test_a_tombstoned_object_under_its_dataset_is_deletable() -> None:
    dataset_id = str(new_uuid7())
    prefix = merged_prefix(dataset_id)

    for given in (prefix, prefix.rstrip("/")):
        info = tombstoned(LOCATION, dataset_id, given, "a.parquet")
        assert deletable_key(info, Stores(LOCATION)) == f"{prefix}a.parquet"


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("ingest-stream", "x"),
        ("", "probe/put-if-absent"),
        ("dataset/{dataset}/merged/../..", "x"),
        ("dataset/{dataset}/merged", "../../x"),
        ("dataset/{dataset}/merged", ""),
        ("dataset/{dataset}", "x"),
        ("dataset/{other}/merged", "x"),
        ("", ""),
    ],
)
def test_an_object_elsewhere_is_never_deletable(prefix: str, name: str) -> None:
    dataset_id = str(new_uuid7())
    prefix = prefix.format(dataset=dataset_id, other=new_uuid7())

    assert deletable_key(tombstoned(LOCATION, dataset_id, prefix, name), Stores(LOCATION)) is None


def test_an_object_of_another_bucket_is_never_deletable() -> None:
    dataset_id = str(new_uuid7())
    other = replace(LOCATION, bucket="other")
    info = tombstoned(other, dataset_id, merged_prefix(dataset_id), "a.parquet")

    assert deletable_key(info, Stores(LOCATION)) is None


@pytest.mark.parametrize("is_held", [False, True], ids=["allowed", "held"])
def test_table_metadata_is_deleted_only_while_deletion_is_allowed(
    fake_tools: Tools, deletion: Deletion, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    # Every answer of meta is too old when a deletion begins.
    monkeypatch.setattr(deletion_permit, "ANSWER_SECS_MAX", -1.0)
    key = new_table_key(str(new_uuid7()), 1, "manifest.avro")
    fake_tools.store.put_if_absent(key, b"")
    deletion.table_keys, deletion.is_held_after_naming = [key], is_held
    before = deleted_objects("table_metadata")

    jobs.delete_table_metadata(fake_tools)

    assert [info.key for info in fake_tools.store.list("iceberg/")] == ([key] if is_held else [])
    assert deleted_objects("table_metadata") - before == (not is_held)


def deleted_objects(why: str) -> float:
    """The deleted objects that are counted under a reason."""
    name = "segplane_janitor_deleted_objects_total"
    return JANITOR.get_sample_value(name, {"why": why}) or 0.0
