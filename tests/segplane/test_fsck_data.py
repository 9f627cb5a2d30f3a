"""segplane fsck --data: a flipped byte anywhere is found, and an interrupted check goes on."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dataplane.object_checks import list_damaged
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreUnusable
from segments.store.folder import FolderStore
from segplane.__main__ import app
from segplane.fsck import check_cursor
from segplane.fsck.check_cursor import DataCursor
from segplane.fsck.data_check import check_data, is_sampled, progress_of
from tests.support.command_line import RunCommand
from tests.support.merge_worker.case import Case
from tests.support.nursery.drivers import CollectorDriver, nursery


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    return Case(meta_client, tmp_path)


def flip(case: Case, key: str, at: int) -> None:
    assert isinstance(case.store, FolderStore)
    path = case.store.root / key
    body = bytearray(path.read_bytes())
    body[at] ^= 1
    path.write_bytes(body)


def test_sound_objects_pass(run: RunCommand, case: Case) -> None:
    case.save(1)
    CollectorDriver(case.client, case.dataset_id).send("a")

    done = run("fsck", "--data", "--json")

    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["objects"], report["num_damaged"], report["damaged"]) == (2, 0, [])


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
def test_a_flipped_byte_of_a_segment_is_found_and_healed(
    run: RunCommand, case: Case, share: float
) -> None:
    """The nursery's segment has its checksum from the first moment on."""
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a", "b")
    nursery(case.client).cycle()
    (segment,) = case.find()
    key = case.key(segment)
    at = int(segment.compressed_size_bytes * share)
    flip(case, key, at)

    found = run("fsck", "--data")

    assert found.exit_code == 1
    assert segment.id in found.stdout
    assert f"segplane segments hide {segment.id} --accept-loss" in found.stdout
    assert [one.segment_id for one in list_damaged(case.client)] == [segment.id]
    assert run("fsck").exit_code == 1
    flip(case, key, at)
    assert run("fsck", "--data").exit_code == 0
    assert not list(list_damaged(case.client))
    clean = run("fsck", "--deep")
    assert clean.exit_code == 0, clean.output


def test_a_damaged_page_is_found_in_a_segment_without_a_checksum(
    run: RunCommand, case: Case
) -> None:
    case.save(1)
    (segment,) = case.find()
    flip(case, case.key(segment), segment.compressed_size_bytes // 3)

    found = run("fsck", "--data")

    assert found.exit_code == 1
    assert "content cannot be read" in found.stdout


def test_a_flipped_byte_of_a_baby_is_found(run: RunCommand, case: Case) -> None:
    collector = CollectorDriver(case.client, case.dataset_id)
    collector.send("a")
    (baby,) = case.store.list("ingest-stream/")
    flip(case, baby.key, 9)

    found = run("fsck", "--data")

    assert found.exit_code == 1
    assert f"segplane streams skip {collector.stream_id} 0 --accept-loss" in found.stdout


def test_an_interrupted_check_goes_on(case: Case, run: RunCommand, tmp_path: Path) -> None:
    for seed in range(5):
        case.save(seed)
    path = tmp_path / "cursor.json"
    stopped = Stopping(case.store, after=2)
    cursor = DataCursor()
    with pytest.raises(StoreUnusable):
        check_data(case.client, stopped, cursor, lambda *_: None)  # type: ignore[arg-type]
    # What was kept last: two objects.
    keys = sorted(case.key(segment) for segment in case.find())
    check_cursor.save(path, DataCursor(after_key=keys[1], objects=2, size_bytes=9, num_unread=0))

    done = run("fsck", "--data", "--cursor", str(path), "--json")

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["objects"] == 5
    assert not path.exists()


class Stopping:
    """A store that becomes unusable after some reads."""

    def __init__(self, store: object, after: int) -> None:
        self._store, self._left = store, after

    def open_input(self, key: str) -> object:
        if not self._left:
            raise StoreUnusable("the bucket is gone")
        self._left -= 1
        return self._store.open_input(key)  # type: ignore[attr-defined]


def test_a_cursor_of_other_options_is_refused(run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "cursor.json"
    check_cursor.save(path, DataCursor(sample=0.5))

    done = run("fsck", "--data", "--cursor", str(path))

    assert done.exit_code == 2
    assert "sample = 0.5" in done.stderr
    path.write_text("[]")
    assert run("fsck", "--data", "--cursor", str(path)).exit_code == 2
    path.write_text("{")
    assert run("fsck", "--data", "--cursor", str(path)).exit_code == 2


def test_a_sample_takes_about_its_share() -> None:
    keys = [f"dataset/{n}" for n in range(10_000)]

    taken = [key for key in keys if is_sampled(key, 0.1, 7)]

    assert 800 < len(taken) < 1_200
    assert taken == [key for key in keys if is_sampled(key, 0.1, 7)]
    assert all(is_sampled(key, 1.0, 7) for key in keys)


@pytest.mark.parametrize(
    ("done", "whole", "least_secs", "most_secs"),
    [
        # By bytes alone it would be 90 s, and 1 s.
        pytest.param((999, 10**7), (1_000, 10**8), 0.5, 2, id="small objects first"),
        pytest.param((1, 9 * 10**7), (1_000, 10**8), 80, 150, id="a large object first"),
        pytest.param((500, 5 * 10**7), (1_000, 10**8), 9.5, 10.5, id="objects of one size"),
    ],
)
def test_the_time_that_is_left_counts_objects_as_well_as_bytes(
    done: tuple[int, int], whole: tuple[int, int], least_secs: float, most_secs: float
) -> None:
    cursor = DataCursor(objects=done[0], size_bytes=done[1], secs=10.0)

    totals = pb.ListStoredObjectsResponse(total_objects=whole[0], total_size_bytes=whole[1])
    progress = progress_of(cursor, totals)

    assert progress.left_secs is not None
    assert least_secs < progress.left_secs < most_secs


def test_only_segments_since_a_version_are_checked(run: RunCommand, case: Case) -> None:
    case.save(1)
    version = case.find()[0].created_version
    case.save(2)

    done = run("fsck", "--data", "--since", str(version), "--json")

    assert json.loads(done.stdout)["objects"] == 1


@pytest.mark.parametrize(
    "arguments", [("--sample", "0"), ("--sample", "1.1"), ("--since", "-1"), ("--sample", "x")]
)
def test_wrong_options_are_refused(arguments: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["fsck", "--data", *arguments]).exit_code == 2
