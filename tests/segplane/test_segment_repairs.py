"""A damaged segment is hidden, put back or replaced; a rebuild from the bucket follows."""

import json
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from meta.errors import InvalidArgument
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import SIGNAL_LOGS
from segments.keys import hidden_key
from segments.markers import mark_replaced
from segments.parquet.reader import read_segment
from segplane.recovery import segment_repairs
from segplane.recovery.rebuild import read_plan
from tests.support.command_line import RunCommand
from tests.support.merge_worker.case import Case
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.parquet.old_footers import without_signal_times
from tests.support.schema_violations import seen
from tests.support.visible_segments import find, key_of


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Give a collector two of whose babies are merged, a segment each."""
    driver = CollectorDriver(meta_server.client, dataset(meta_server.client))
    for text in ("a", "b"):
        driver.send(text)
        nursery(meta_server.client).cycle()
    assert seen(driver) == ["a", "b"]
    return driver


def path_of(collector: CollectorDriver, key: str) -> Path:
    return Path("/", collector.store.location.path, key)


def segment_of(collector: CollectorDriver, text: str) -> tuple[str, str]:
    """Id and key of the segment that holds a text."""
    for segment in find(collector.client):
        key = key_of(segment)
        if text in read_segment(collector.store, key)["logs"]["body"].to_pylist():
            return segment.id, key
    raise AssertionError(text)


def damage(path: Path, offset: int = 200) -> bytes:
    """Flip a bit of a byte; returns the sound bytes."""
    sound = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(sound[:offset] + bytes([sound[offset] ^ 1]) + sound[offset + 1 :])
    return sound


def rebuilt_keys(collector: CollectorDriver) -> set[str]:
    return {one.key for one in read_plan(collector.store).segments}


def reasons(collector: CollectorDriver) -> dict[str, str]:
    return {one.key: one.reason for one in read_plan(collector.store).dropped}


def clean(run: RunCommand) -> str:
    checked = run("fsck", "--deep")
    assert checked.exit_code == 0, checked.stdout
    return checked.stdout


def test_a_missing_segment_is_hidden_and_the_check_is_clean(
    run: RunCommand, collector: CollectorDriver
) -> None:
    segment, key = segment_of(collector, "a")
    path_of(collector, key).unlink()
    assert run("fsck").exit_code == 1

    refused = run("segments", "hide", segment)
    done = run("segments", "hide", segment, "--accept-loss", "--reason", "disk")

    assert refused.exit_code == 2
    assert done.exit_code == 0, done.stderr
    assert "1 records" in done.stdout
    assert seen(collector) == ["b"]
    assert f"accepted loss: segment {segment}" in clean(run)
    (loss,) = json.loads(run("losses", "--json").stdout)
    assert (loss["segment_id"], loss["records"], loss["reason"]) == (segment, "1", "disk")


def test_a_hidden_segment_is_put_back_from_its_own_object(
    run: RunCommand, collector: CollectorDriver
) -> None:
    segment, key = segment_of(collector, "a")
    run("segments", "hide", segment, "--accept-loss")
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}
    assert reasons(collector) == {key: "hidden"}

    done = run("segments", "hide", "--undo", segment)
    again = run("segments", "hide", "--undo", segment)

    assert done.exit_code == again.exit_code == 0, done.stderr
    assert done.stdout == again.stdout
    assert seen(collector) == ["a", "b"]
    assert "withdrawn loss" in clean(run)
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}
    assert reasons(collector) == {key: "replaced"}


def test_a_damaged_segment_is_replaced_by_a_sound_copy(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    segment, key = segment_of(collector, "a")
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(damage(path_of(collector, key)))

    done = run("segments", "replace", segment, str(copy))

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["a", "b"]
    clean(run)
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}


def forged(sound: Path, to: Path) -> Path:
    """Write the same records under other bodies, with the same lineage."""
    table = pq.read_table(sound)
    bodies = pa.array(["forged"] * table.num_rows, table.schema.field("body").type)
    index = table.schema.get_field_index("body")
    pq.write_table(table.set_column(index, table.schema.field("body"), bodies), to)
    return to


def test_a_forged_file_replaces_a_sound_segment_under_no_option(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    segment, key = segment_of(collector, "a")
    file = forged(path_of(collector, key), tmp_path / "forged.parquet")

    for options in ((), ("--accept-altered",)):
        done = run("segments", "replace", segment, str(file), *options)
        assert done.exit_code == 1
        assert "is sound: its checksum is" in done.stderr

    assert seen(collector) == ["a", "b"]
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}


def test_an_altered_file_is_compared_accepted_and_reverted(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    segment, key = segment_of(collector, "a")
    file = forged(path_of(collector, key), tmp_path / "forged.parquet")
    sound = tmp_path / "sound.parquet"
    # A bit of the magic number in front: the rows can still be read.
    sound.write_bytes(damage(path_of(collector, key), offset=1))

    refused = run("segments", "replace", segment, str(file))
    accepted = run("segments", "replace", segment, str(file), "--accept-altered")

    assert (refused.exit_code, accepted.exit_code) == (1, 0), accepted.stderr
    assert "column logs.body: 1 of 1 values differ" in refused.stderr
    assert "accepted: column logs.body: 1 of 1 values differ" in accepted.stdout
    assert seen(collector) == ["b", "forged"]
    record = json.loads(run("audit", "list", "--rpc", "ReplaceSegment", "--json").stdout)
    assert record["detail"].startswith("checksum ")
    replacement, _ = segment_of(collector, "forged")
    undone = run("segments", "replace", "--undo", replacement, "--accept-loss")
    again = run("segments", "replace", "--undo", replacement, "--accept-loss")
    assert (undone.exit_code, again.stdout) == (0, undone.stdout), undone.stderr
    assert f"segment {segment} is hidden again" in undone.stdout
    assert seen(collector) == ["b"]
    assert set(reasons(collector).values()) == {"hidden"}
    assert run("segments", "replace", segment, str(sound)).exit_code == 0
    assert seen(collector) == ["a", "b"]
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}
    clean(run)


def test_files_that_are_not_the_segments_are_refused(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    segment, key = segment_of(collector, "a")
    _, other_key = segment_of(collector, "b")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(path_of(collector, key).read_bytes()[:-1])
    other = path_of(collector, other_key)

    def refusal(*arguments: str) -> str:
        done: Result = run("segments", *arguments)
        assert done.exit_code == 1
        return done.stderr

    assert "is not a sound segment" in refusal("replace", segment, str(broken))
    assert "is not a sound segment" in refusal("replace", segment, str(tmp_path / "absent"))
    assert "is sound" in refusal("replace", segment, str(path_of(collector, key)))
    assert "is live, not hidden" in refusal("hide", "--undo", segment)
    damage(path_of(collector, key))
    assert "add --accept-altered" in refusal("replace", segment, str(other))
    altered = ("replace", segment, str(other), "--accept-altered")
    assert "hold different nursery batches" in refusal(*altered)
    path_of(collector, key).unlink()
    assert "not the segment's" in refusal(*altered)
    run("segments", "hide", segment, "--accept-loss")
    assert "is missing" in refusal("hide", "--undo", segment)
    assert seen(collector) == ["b"]


def test_a_kill_between_hiding_and_marking_is_repaired_by_a_repetition(
    run: RunCommand, collector: CollectorDriver
) -> None:
    segment, key = segment_of(collector, "a")
    acceptance = pb.LossAcceptance(accept_loss=True, actor="op")
    collector.client.operations.HideSegment(
        pb.HideSegmentRequest(segment_id=segment, acceptance=acceptance)
    )
    assert key in rebuilt_keys(collector)

    done = run("segments", "hide", segment, "--accept-loss")

    assert done.exit_code == 0
    assert key not in rebuilt_keys(collector)
    assert collector.store.head(hidden_key(key))
    assert len(json.loads(run("losses", "--json").stdout)) == 1


@pytest.mark.parametrize("is_put", [False, True], ids=["after the marker", "after the put"])
def test_a_kill_before_a_replacement_is_registered_loses_and_doubles_nothing(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path, is_put: bool
) -> None:
    segment, key = segment_of(collector, "a")
    _, other_key = segment_of(collector, "b")
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(damage(path_of(collector, key)))
    new_key = f"{key.rpartition('/')[0]}/{uuid4()}.parquet"
    mark_replaced(collector.store, key, new_key)
    if is_put:
        collector.store.put_file_if_absent(new_key, copy)

    assert rebuilt_keys(collector) == {new_key if is_put else key, other_key}
    done = run("segments", "replace", segment, str(copy))

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["a", "b"]
    assert len(rebuilt_keys(collector)) == 2


def test_a_replacement_whose_object_was_condemned_is_put_again(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    segment, key = segment_of(collector, "a")
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(damage(path_of(collector, key)))
    with pytest.raises(InvalidArgument):  # After the put, as if it were killed there.
        segment_repairs.replace(collector.client, segment, copy, pb.LossAcceptance())
    assert "condemned" in run("fsck", "--repair", "--orphan-age-secs", "0").stdout

    done = run("segments", "replace", segment, str(copy))
    again = run("segments", "replace", segment, str(copy))

    assert done.exit_code == again.exit_code == 0, done.stderr
    # meta, in this process too, logs the refusal of the condemned key.
    assert done.stdout.splitlines()[-1:] == again.stdout.splitlines()[-1:]
    assert seen(collector) == ["a", "b"]
    assert rebuilt_keys(collector) == {key_of(s) for s in find(collector.client)}
    assert " 0 orphans" in clean(run)


def test_a_copy_that_0_1_0_wrote_is_registered_with_its_content(
    run: RunCommand, meta_server: MetaServer, tmp_path: Path
) -> None:
    case = Case(meta_server.client, tmp_path)
    case.save(1, format_version=1)
    (segment,) = case.find()
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(without_signal_times(case.store.get(case.key(segment))))

    done = run("segments", "replace", segment.id, str(copy), "--accept-altered")

    assert done.exit_code == 0, done.stderr
    assert "only the bytes differ" in done.stdout
    (found,) = case.find()
    assert found.facts.format_version == 1
    assert [(one.signal, one.number_of_events) for one in found.facts.signals] == [
        (SIGNAL_LOGS, 40)
    ]
