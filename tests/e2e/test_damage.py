"""Every damage of docs/operations.md, done to one running stack and repaired by its commands.

Each test leaves a sound stack behind: `segplane fsck --data` is clean apart from accepted losses.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.keys import new_merged_key
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from tests.support.pipeline.damaged_stack import DamagedStack, flip, flip_in_page
from tests.support.visible_segments import find, key_of

PACE = {
    "META_FLUSH_TIMEOUT_MS": "50",
    # Two segments of a day are enough for a merge task, whatever their sizes are.
    "META_MERGE_FILES_QUIET": "1",
    "META_MERGE_QUIET_SECS": "0",
    "META_CLAIM_LEASE_SECS": "5",
    "META_BEAT_LEASE_SECS": "5",
    "NURSERY_WAIT_SECS": "0.1",
    "NURSERY_IDLE_ADVANCE_SECS": "1",
    "NURSERY_SPARK_MASTER": "processes[1]",
    "MERGE_WORKER_SPARK_MASTER": "processes[1]",
    "JANITOR_MERGE_INTERVAL_SECS": "1",
    "JANITOR_SCRUB_BYTES_PER_SEC": "1000000000",
    "JANITOR_SCRUB_PASS_SECS": "0",
}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def stack() -> Iterator[DamagedStack]:
    """Run all that `segplane dev` runs, its own Postgres included."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-damage-"))
    # Postgres runs as another user under root.
    folder.chmod(0o711)
    settings = StackSettings(
        data_dir=folder / "data",
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        inherited={**os.environ, **PACE},
    )
    lines: list[str] = []
    try:
        with Stack(settings, lines.append) as running, running.connect() as client:
            yield DamagedStack(running, client)
    finally:
        print("\n".join(lines))
        for path in sorted((folder / "data" / "logs").glob("*.log")):
            print(f"--- {path.name}")
            print("\n".join(path.read_text(errors="replace").splitlines()[-60:]))
        shutil.rmtree(folder, ignore_errors=True)


def test_a_missing_baby_parks_its_stream_until_it_is_skipped(stack: DamagedStack) -> None:
    stack.merged("before it")
    with stack.held("nursery"):
        stack.send("in the missing baby")
        path = stack.baby_with("in the missing baby")
        stream, offset = path.parent.name, str(int(path.name))
        path.unlink()
    stack.send("behind it")
    stack.wait(
        lambda: f"parked: {stream} at offset {offset}" in stack.run("streams", "list").stdout,
        "the stream is parked",
        poll_secs=0.5,
    )
    assert stack.run("fsck").exit_code == 1

    stack.repair("streams", "skip", stream, offset, "--accept-loss", "--reason", "disk")

    stack.expected.remove("in the missing baby")
    stack.assert_whole()
    (loss,) = stack.losses()
    assert (loss["stream_id"], loss["records"], loss["reason"]) == (stream, "1", "disk")


def quarantined(stack: DamagedStack, text: str) -> tuple[str, Path]:
    """Flip bits of a record in its baby; returns the payload's key and its sound bytes' file."""
    stack.wait(stack.is_drained, "every baby is merged")
    with stack.held("nursery"):
        sound = stack.send(text)
        path = stack.baby_with(text)
        # A single flipped bit would be corrected.
        flip(path, path.read_bytes().index(text.encode()), bits=3)
    stack.send(f"beside {text}")
    stack.wait(stack.is_drained, "every baby is merged")
    (item,) = json.loads(
        stack.run("quarantine", "list", "--cause", "corrupt_slice", "--json").stdout
    )
    copy = stack.root.parent / "sound"
    copy.write_bytes(sound)
    return item["key"], copy


def test_a_flipped_bit_in_a_baby_is_healed_by_a_replay_that_may_be_killed(
    stack: DamagedStack,
) -> None:
    key, sound = quarantined(stack, "the flipped record")
    before = set(stack.objects("dataset"))
    replay = ("quarantine", "replay", key, "--file", str(sound))
    environment = {**os.environ, "SEGPLANE_META_ADDRESS": stack.stack.settings.meta_address}
    command = [sys.executable, "-m", "segplane", *replay]
    with subprocess.Popen(command, env=environment) as killed:
        stack.wait(
            lambda: killed.poll() is not None or set(stack.objects("dataset")) > before,
            "the replay has put its object",
            poll_secs=0.001,
        )
        killed.kill()

    done = stack.run(*replay)

    assert done.exit_code == 0 or "is not in the quarantine" in done.stderr
    assert stack.objects("quarantine") == []
    stack.assert_whole()


def test_a_payload_that_is_dropped_is_in_the_ledger(stack: DamagedStack) -> None:
    key, _ = quarantined(stack, "the dropped record")

    stack.repair("quarantine", "drop", key, "--accept-loss")

    stack.expected.remove("the dropped record")
    stack.assert_whole()
    assert key in {loss.get("object_key") for loss in stack.losses()}


def test_a_missing_segment_is_hidden_and_comes_back_with_its_copy(stack: DamagedStack) -> None:
    stack.merged("in the missing segment")
    copy = stack.root.parent / "copy.parquet"
    with stack.held("merge_worker"):
        segment, path = stack.segment_with("in the missing segment")
        shutil.copyfile(path, copy)
        path.unlink()
        stack.await_damage(segment.id)
        assert stack.run("fsck").exit_code == 1

        stack.repair("segments", "hide", segment.id, "--accept-loss")

        assert path not in {stack.root / key_of(one) for one in find(stack.client)}
        assert stack.run("fsck", "--data").exit_code == 0
        assert segment.id in {loss.get("segment_id") for loss in stack.losses()}
    stack.repair("segments", "replace", segment.id, str(copy))
    stack.assert_whole()


def test_a_damaged_segment_is_replaced_by_its_copy(stack: DamagedStack) -> None:
    stack.merged("in the damaged segment")
    copy = stack.root.parent / "copy.parquet"
    with stack.held("merge_worker"):
        segment, path = stack.segment_with("in the damaged segment")
        copy.write_bytes(flip_in_page(path))
        stack.await_damage(segment.id)
        assert stack.run("fsck", "--data").exit_code == 1

        stack.repair("segments", "replace", segment.id, str(copy))
    stack.assert_whole()


@pytest.mark.long
def test_a_damaged_merge_input_is_set_aside_and_the_others_merge(stack: DamagedStack) -> None:
    copy = stack.root.parent / "copy.parquet"
    with stack.held("merge_worker"):
        for number in range(3):
            stack.merged(f"merge input {number}")
        segment, path = stack.segment_with("merge input 1")
        copy.write_bytes(flip_in_page(path))
        sound = {one.id for one in find(stack.client)} - {segment.id}
    # The policy may leave one of them alone.
    stack.wait(
        lambda: len(sound & {one.id for one in find(stack.client)}) <= 1,
        "the sound inputs are merged",
        poll_secs=0.2,
    )
    stack.wait(
        lambda: "excluded" in stack.run("tasks", "explain", "--dataset", "default").stdout,
        "the damaged input is excluded",
        poll_secs=0.2,
    )
    assert segment.id in {one.id for one in find(stack.client)}

    stack.repair("segments", "replace", segment.id, str(copy))

    stack.assert_whole()


def test_an_orphan_is_condemned_by_the_check(stack: DamagedStack) -> None:
    stack.merged("beside the orphan")
    segment, path = stack.segment_with("beside the orphan")
    orphan = stack.root / new_merged_key(segment.dataset_id)
    shutil.copyfile(path, orphan)

    repaired = stack.run("fsck", "--repair", "--orphan-age-secs", "0")

    assert f"condemned: {orphan.relative_to(stack.root)}" in repaired.stdout
    orphan.unlink()  # As the janitor does after a day.
    stack.assert_whole()


@pytest.mark.long
def test_a_rewrite_of_all_segments_is_paused_resumed_and_completed(stack: DamagedStack) -> None:
    before = {one.id for one in find(stack.client)}
    with stack.held("merge_worker"):
        rewrite = ("tasks", "rewrite", "--dataset", "default", "--job", "--json")
        begun = json.loads(stack.repair(*rewrite))
        stack.repair("rewrites", "pause", begun["id"])
        stack.repair("rewrites", "resume", begun["id"])

    stack.wait(
        lambda: "STATE_DONE" in stack.run("rewrites", "list", "--json").stdout,
        "the rewrite is done",
        poll_secs=0.2,
    )
    assert before.isdisjoint(one.id for one in find(stack.client))
    stack.assert_whole()
