"""Baby segments that were quarantined whole: replayed from a sound copy, or payload by payload."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from collector.otlp.export import digest_of
from meta.client import MetaClient
from meta.errors import NothingToRepair
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segments.baby import Baby, BabyKind, Export, TokenPart, encode_baby
from segments.keys import baby_key, quarantine_key, quarantine_whole_key
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery
from tests.support.visible_segments import find, texts


@dataclass
class Scene:
    """A stream with a baby of two datasets, which is damaged before it is merged."""

    first: CollectorDriver
    second: CollectorDriver
    sound: bytes

    @property
    def client(self) -> MetaClient:
        return self.first.client

    @property
    def key(self) -> str:
        return quarantine_whole_key(self.first.stream_id, self.first.next_offset - 1)

    def seen(self) -> list[str]:
        return texts(self.client, self.first.store)

    def damage(self, *places: bytes) -> None:
        """Flip two bits of a byte behind each of some bytes, then merge."""
        body = bytearray(self.sound)
        for place in places:
            body[self.sound.index(place) + len(place)] ^= 3
        path = Path("/", self.first.store.location.path)
        path /= baby_key(self.first.stream_id, self.first.next_offset - 1)
        path.chmod(0o644)
        path.write_bytes(body)
        nursery(self.client).cycle()
        assert self.seen() == []


def part(collector: CollectorDriver, *bodies: str) -> TokenPart:
    """A part as a collector stamps it."""
    slices = tuple(map(logs, bodies))
    exports = tuple(Export(digest_of(collector.token_id, "logs", one), NOW) for one in slices)
    stamp = (collector.dataset_id, len(slices), NOW, NOW, exports)
    return TokenPart(collector.token_id, "logs", slices, *stamp)


@pytest.fixture
def scene(meta_server: MetaServer) -> Scene:
    """Give the baby, put and committed."""
    client = meta_server.client
    first, second = (CollectorDriver(client, dataset(client)) for _ in range(2))
    baby = Baby((part(first, "a", "b"), part(second, "c")), BabyKind.DATA, b"f" * 16, NOW)
    body = encode_baby(baby)
    first.store.put_if_absent(baby_key(first.stream_id, 0), body)
    first.next_offset = 1
    first.commit(baby)
    return Scene(first, second, body)


def digest(collector: CollectorDriver, text: str) -> bytes:
    """All of a payload's digest but its last byte, which stands in the baby once."""
    return digest_of(collector.token_id, "logs", logs(text))[:-1]


def test_a_whole_baby_is_replayed_from_a_sound_copy(
    run: RunCommand, scene: Scene, tmp_path: Path
) -> None:
    scene.damage(digest(scene.first, "a"))
    copy, other = tmp_path / "sound", tmp_path / "other"
    copy.write_bytes(scene.sound)
    other.write_bytes(encode_baby(Baby((part(scene.first, "forged"),), flush_id=b"f" * 16)))
    replay = ("quarantine", "replay", scene.key)

    advice = run(*replay).stderr
    as_is = run(*replay, "--as-is").stderr
    forged = run(*replay, "--file", str(other))
    done = run(*replay, "--file", str(copy))
    again = run(*replay, "--file", str(copy))

    assert "a sound copy of the baby segment with --file" in advice
    assert as_is == advice
    assert "does not end with the checksum" in forged.stderr
    assert done.exit_code == 0, done.stderr
    assert "3 payloads visible" in done.stdout
    assert "is not in the quarantine" in again.stderr
    assert scene.seen() == ["a", "b", "c"]
    by_dataset = {one.dataset_id: one.number_of_events for one in find_all(scene)}
    assert by_dataset == {scene.first.dataset_id: 2, scene.second.dataset_id: 1}
    assert run("quarantine", "list", "--json").stdout.strip() == "[]"


def find_all(scene: Scene) -> list[common_pb2.SegmentInfo]:
    merged = dict[str, common_pb2.SegmentInfo]()
    for segment in find(scene.client):
        if segment.dataset_id in merged:
            segment.number_of_events += merged[segment.dataset_id].number_of_events
        merged[segment.dataset_id] = segment
    return list(merged.values())


def test_payloads_whose_checksums_hold_are_recovered_and_a_copy_brings_the_rest_once(
    run: RunCommand, scene: Scene, tmp_path: Path
) -> None:
    scene.damage(digest(scene.first, "a"), logs("a")[:-1])
    copy = tmp_path / "sound"
    copy.write_bytes(scene.sound)
    replay = ("quarantine", "replay", scene.key)

    partly = run(*replay, "--sound-payloads", "--json")
    again = run(*replay, "--sound-payloads", "--json")

    assert partly.exit_code == 0, partly.stderr
    assert json.loads(partly.stdout) == json.loads(again.stdout)
    assert json.loads(partly.stdout)["damaged"] == 1
    assert scene.seen() == ["b", "c"]
    done = run(*replay, "--file", str(copy))
    assert done.exit_code == 0, done.stderr
    assert scene.seen() == ["a", "b", "c"]


@pytest.mark.parametrize("which", ["token", "dataset"])
def test_payloads_are_not_recovered_for_a_token_or_dataset_that_is_not_known(
    run: RunCommand, scene: Scene, which: str
) -> None:
    stamp = scene.second.token_id if which == "token" else scene.second.dataset_id
    scene.damage(stamp.encode()[:-1])

    done = run("quarantine", "replay", scene.key, "--sound-payloads")

    assert "1 payloads are damaged" in done.stdout
    assert scene.seen() == ["a", "b"]


def test_payloads_of_a_dropped_baby_are_not_replayed(run: RunCommand, scene: Scene) -> None:
    scene.damage(digest(scene.first, "a"))
    client, offset = scene.client, scene.first.next_offset - 1
    assert run("quarantine", "drop", scene.key, "--accept-loss").exit_code == 0

    with pytest.raises(NothingToRepair, match="whole baby segment was dropped"):
        client.operations.BeginReplay(
            pb.BeginReplayRequest(
                object_key=quarantine_key(
                    scene.first.stream_id, offset, scene.first.token_id, "logs", 0
                ),
                dataset_id=scene.first.dataset_id,
                acceptance=pb.LossAcceptance(actor="op"),
            )
        )


def test_no_single_flipped_bit_of_a_baby_costs_a_record(meta_server: MetaServer) -> None:
    """One bit in each part of a baby: framing, stamps, payloads and checksums."""
    client = meta_server.client
    collector = CollectorDriver(client, dataset(client))
    expected = []
    for number in range(64):
        text = f"record {number}"
        baby = Baby((part(collector, text),), BabyKind.DATA, number.to_bytes(16), NOW)
        body = bytearray(encode_baby(baby))
        bit = number * (len(body) * 8 - 1) // 63
        body[bit // 8] ^= 1 << bit % 8
        collector.store.put_if_absent(baby_key(collector.stream_id, number), bytes(body))
        collector.next_offset += 1
        collector.commit(baby)
        expected.append(text)

    nursery(client).cycle()

    assert texts(client, collector.store) == sorted(expected)
