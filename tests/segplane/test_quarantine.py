"""Payloads of the quarantine are listed, replayed exactly once, or dropped."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataplane.babies.payload import Payload
from meta.errors import InvalidArgument, NotDrained, NothingToRepair
from meta.v1 import operations_pb2 as pb
from nursery.execution.replay import write_payload
from segments.baby import Export, encode_baby
from segments.inventory.quarantine import QuarantineFilter, list_page
from segments.keys import baby_key, quarantine_key
from segments.parquet.spec import SegmentSpec
from segplane.recovery.rebuild import read_plan
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery
from tests.support.schema_violations import seen
from tests.support.visible_segments import find, key_of

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="why")
BROKEN = b"\x0a\x05ab"


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Give a collector whose payload 1 of baby 0 is broken, and merged all the rest."""
    driver = CollectorDriver(meta_server.client, dataset(meta_server.client))
    driver.commit(driver.put("good", payloads=(BROKEN,)))
    nursery(meta_server.client).cycle()
    assert seen(driver) == ["good"]
    return driver


def rebuilt(collector: CollectorDriver) -> set[str]:
    return {one.key for one in read_plan(collector.store).segments}


def live(collector: CollectorDriver) -> set[str]:
    return {key_of(segment) for segment in find(collector.client)}


def key_in(collector: CollectorDriver, index: int = 1) -> str:
    return quarantine_key(collector.stream_id, 0, collector.token_id, "logs", index)


def listed(run: RunCommand, *arguments: str) -> list[dict[str, Any]]:
    done = run("quarantine", "list", "--json", *arguments)
    assert done.exit_code == 0, done.stderr
    items: list[dict[str, Any]] = json.loads(done.stdout)
    return items


def begin(collector: CollectorDriver, dataset_id: str = "", key: str = "") -> pb.Replay:
    request = pb.BeginReplayRequest(
        object_key=key or key_in(collector),
        dataset_id=dataset_id or collector.dataset_id,
        acceptance=CONSENT,
    )
    return collector.client.operations.BeginReplay(request).replay


def write(collector: CollectorDriver, text: str) -> list[str]:
    """Write the objects of a replay, as the command does before it registers them."""
    body = logs(text)
    payload = Payload(
        collector.stream_id, 0, collector.token_id, "logs", 1, body, NOW, len(body), False
    )
    folder = Path("/", collector.store.location.path).parent / "work"
    folder.mkdir(exist_ok=True)
    written = write_payload(
        collector.store, payload, key_in(collector), collector.dataset_id, SegmentSpec(), folder
    )
    return [segment.key for segment in written.segments]


def test_payloads_are_listed_by_stream_dataset_and_cause_in_pages(
    run: RunCommand, collector: CollectorDriver
) -> None:
    other = CollectorDriver(collector.client, dataset(collector.client))
    other.commit(other.put(payloads=(BROKEN, BROKEN)))
    nursery(collector.client).cycle()

    keys = [item["key"] for item in listed(run)]

    assert len(keys) == 3
    assert [item["key"] for item in listed(run, "--stream", collector.stream_id)] == [
        key_in(collector)
    ]
    assert len(listed(run, "--cause", "undecodable")) == 3
    assert listed(run, "--cause", "no_route") == []
    assert {item["dataset_id"] for item in listed(run)} == {
        collector.dataset_id,
        other.dataset_id,
    }
    pages = [listed(run, "--limit", "2"), listed(run, "--limit", "2", "--after", keys[1])]
    assert [item["key"] for page in pages for item in page] == keys
    assert f"more may follow: --after {keys[1]}" in run("quarantine", "list", "--limit", "2").stderr
    shown = run("quarantine", "show", key_in(collector))
    assert "undecodable: " in shown.stdout


def test_a_payload_is_replayed_once_and_a_rebuild_keeps_it_once(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    (tmp_path / "sound").write_bytes(logs("healed"))
    replay = ("quarantine", "replay", key_in(collector), "--file", str(tmp_path / "sound"))

    done = run(*replay)
    again = run(*replay)

    assert done.exit_code == 0, done.stderr
    assert again.exit_code == 1
    assert "is not in the quarantine" in again.stderr
    assert seen(collector) == ["good", "healed"]
    assert rebuilt(collector) == live(collector)
    assert len(live(collector)) == 2
    assert listed(run) == []
    checked = run("fsck", "--deep")
    assert checked.exit_code == 0, checked.stdout


@pytest.mark.parametrize("killed_after", ["begin", "put", "registration"])
def test_a_replay_that_was_killed_is_completed_by_the_next(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path, killed_after: str
) -> None:
    (tmp_path / "sound").write_bytes(logs("healed"))
    begin(collector)
    if killed_after != "begin":
        write(collector, "healed")
    replay = ("quarantine", "replay", key_in(collector), "--file", str(tmp_path / "sound"))
    if killed_after == "registration":
        left = {k: collector.store.get(k) for k in (key_in(collector), f"{key_in(collector)}.json")}
        assert run(*replay).exit_code == 0
        for key, body in left.items():
            collector.store.put_if_absent(key, body)

    done = run(*replay)

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["good", "healed"]
    assert rebuilt(collector) == live(collector)
    assert listed(run) == []


@pytest.mark.parametrize("is_deleted", [False, True], ids=["condemned", "deleted"])
def test_a_replay_whose_object_was_condemned_is_completed(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path, is_deleted: bool
) -> None:
    (tmp_path / "sound").write_bytes(logs("healed"))
    begin(collector)
    written = write(collector, "healed")
    given_up = pb.CondemnObjectsRequest(object_keys=written, written_by_caller=True)
    assert collector.client.operations.CondemnObjects(given_up).condemned_keys == list(written)
    if is_deleted:
        collector.store.delete(written)
    replay = ("quarantine", "replay", key_in(collector), "--file", str(tmp_path / "sound"))

    done = run(*replay)

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["good", "healed"]
    assert rebuilt(collector) == live(collector)
    assert not live(collector) & set(written)
    checked = run("fsck", "--deep", "--orphan-age-secs", "0")
    assert checked.exit_code == 0, checked.stdout
    assert " 0 orphans" in checked.stdout


def test_a_replay_replaces_what_a_killed_one_has_written_of_other_bytes(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    (tmp_path / "sound").write_bytes(logs("healed"))
    begin(collector)
    write(collector, "of another file")

    done = run("quarantine", "replay", key_in(collector), "--file", str(tmp_path / "sound"))

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["good", "healed"]
    assert rebuilt(collector) == live(collector)


def test_a_page_ends_after_the_notes_that_it_may_read(collector: CollectorDriver) -> None:
    other = CollectorDriver(collector.client, dataset(collector.client))
    other.commit(other.put(payloads=(BROKEN, BROKEN)))
    nursery(collector.client).cycle()
    none, every = QuarantineFilter(cause="no_route"), QuarantineFilter(cause="undecodable")

    def pages(chosen: QuarantineFilter, read_max: int) -> list[list[str]]:
        pages, after = list[list[str]](), ""
        while True:
            page = list_page(collector.store, chosen, after, 100, read_max)
            pages.append([item.key for item in page.items])
            after = page.next_after
            if not after:
                return pages

    (every_key,) = pages(every, 4)
    assert pages(none, 3) == [[], []]
    assert pages(none, 4) == [[]]
    assert pages(every, 2) == [every_key[:2], every_key[2:]]
    assert pages(every, 1) == [*([key] for key in every_key), []]


def test_a_dropped_payload_is_in_the_ledger_and_is_never_replayed(
    run: RunCommand, collector: CollectorDriver
) -> None:
    body = collector.store.get(key_in(collector))
    refused = run("quarantine", "drop", key_in(collector))
    done = run("quarantine", "drop", key_in(collector), "--accept-loss", "--reason", "noise")
    collector.store.put_if_absent(key_in(collector), body)

    assert refused.exit_code == 2
    assert done.exit_code == 0, done.stderr
    (loss,) = json.loads(run("losses", "--json").stdout)
    assert (loss["object_key"], loss["reason"]) == (key_in(collector), "noise")
    with pytest.raises(NothingToRepair):
        begin(collector)
    assert run("quarantine", "drop", key_in(collector), "--accept-loss").exit_code == 0
    assert len(json.loads(run("losses", "--json").stdout)) == 1
    assert run("fsck").exit_code == 0


def test_what_cannot_be_replayed_is_refused_with_its_reason(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    other = dataset(collector.client)
    key = key_in(collector)

    undecodable = run("quarantine", "replay", key)
    assert undecodable.exit_code == 1
    assert undecodable.stderr.startswith(f"error: {key}: ")
    with pytest.raises(InvalidArgument, match="was begun"):
        begin(collector, other)
    with pytest.raises(InvalidArgument, match="not a key of a quarantined payload"):
        begin(collector, key="quarantine/x")
    with pytest.raises(InvalidArgument, match="whole baby"):
        begin(collector, key=f"quarantine/{collector.stream_id}/{'0' * 20}/whole")
    unknown = pb.CompleteReplayRequest(object_key=key_in(collector, 7))
    with pytest.raises(NothingToRepair, match="no replay"):
        collector.client.operations.CompleteReplay(unknown)
    collector.put("unmerged", payloads=(BROKEN,))
    later = quarantine_key(collector.stream_id, 1, collector.token_id, "logs", 1)
    with pytest.raises(NotDrained):
        begin(collector, key=later)
    assert seen(collector) == ["good"]
    assert [item["key"] for item in listed(run)] == [key]


def test_a_flipped_byte_in_a_baby_is_healed_by_a_replay_of_the_sound_bytes(
    run: RunCommand, meta_server: MetaServer, tmp_path: Path
) -> None:
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    baby = collector.put("first", "second")
    stamps = tuple(Export(bytes([number]) * 16, NOW) for number in range(2))
    baby = replace(baby, parts=(baby.parts[0]._replace(exports=stamps),))
    body = bytearray(encode_baby(baby))
    collector.commit(baby)
    body[body.index(b"second")] ^= 1
    path = Path("/", collector.store.location.path, baby_key(collector.stream_id, 0))
    path.chmod(0o644)
    path.write_bytes(body)
    nursery(meta_server.client).cycle()
    assert seen(collector) == ["first"]
    (item,) = listed(run, "--cause", "corrupt_slice", "--stream", collector.stream_id)
    (tmp_path / "sound").write_bytes(logs("second"))

    refused = run("quarantine", "replay", item["key"])
    done = run("quarantine", "replay", item["key"], "--file", str(tmp_path / "sound"))

    assert "give its sound bytes" in refused.stderr
    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["first", "second"]
    checked = run("fsck", "--deep")
    assert checked.exit_code == 0, checked.stdout
