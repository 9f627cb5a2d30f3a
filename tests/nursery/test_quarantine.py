"""Payloads that a nursery task puts aside instead of merging."""

import json
from pathlib import Path

import pytest

from collector.otlp.export import digest_of
from dataplane.babies.reads import Period, Routes, TaskRead
from nursery.execution.execute import execute
from nursery.planning.tasks import Task
from segments.baby import Export, TokenPart
from segments.keys import baby_key, quarantine_key, quarantine_whole_key
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.nursery.tasks import (
    ONE,
    ROOMY,
    STREAM,
    TOKEN,
    TWO,
    bodies,
    logs,
    part,
    put,
    task,
)
from tests.support.otlp.messages import length_delimited


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "objects").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "objects").as_uri()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_slice_that_will_not_decode_is_put_aside_alone(store: ObjectStore, folder: Path) -> None:
    bad = TokenPart(TOKEN, "logs", (logs("good"), b"\x0a\x05ab", logs("also")), ONE, 2)
    put(store, 0, bad)

    result = execute(task(0, ONE), store, ROOMY, folder)

    assert sorted(bodies(store, result)) == ["also", "good"]
    assert result.quarantined_payloads == (("undecodable", 1),)
    key = quarantine_key(STREAM, 0, TOKEN, "logs", 1)
    assert store.get(key) == b"\x0a\x05ab"
    assert json.loads(store.get(f"{key}.json"))["cause"].startswith("undecodable")


@pytest.mark.parametrize(
    ("dataset_id", "cause"), [(None, "no_route"), (TWO, "no_entry")], ids=["none", "unknown"]
)
def test_what_no_entry_accepts_is_put_aside(
    store: ObjectStore, folder: Path, dataset_id: str | None, cause: str
) -> None:
    put(store, 0, part(logs("stray"), dataset_id))

    first = execute(task(0, ONE), store, ROOMY, folder)
    again = execute(task(0, ONE), store, ROOMY, folder)

    assert first.quarantined_payloads == again.quarantined_payloads == ((cause, 1),)
    assert first.datasets[0].segments == ()
    assert store.get(quarantine_key(STREAM, 0, TOKEN, "logs", 0)) == logs("stray")


def test_only_the_owner_puts_aside(store: ObjectStore, folder: Path) -> None:
    put(store, 0, part(logs("stray"), TWO))
    wanted = task(0, ONE)
    other = Task(wanted.works, (TaskRead(STREAM, 0, is_owner=False),), wanted.routes)

    assert execute(other, store, ROOMY, folder).quarantined_payloads == ()


def test_a_dataset_that_the_commit_did_not_announce_is_put_aside(
    store: ObjectStore, folder: Path
) -> None:
    put(store, 0, part(logs("hidden"), ONE))
    announced = Task(
        works=(),
        reads=(TaskRead(STREAM, 0, is_owner=True, dataset_ids=frozenset({TWO})),),
        routes=(Routes(STREAM, {ONE: -1, TWO: -1}, ()),),
    )

    assert execute(announced, store, ROOMY, folder).quarantined_payloads == (("unannounced", 1),)


def test_a_corrupt_baby_is_put_aside_whole(store: ObjectStore, folder: Path) -> None:
    put(store, 0, part(logs("lost")))
    damaged = bytearray(store.get(baby_key(STREAM, 0)))
    damaged[10] ^= 1
    store.put_if_absent(baby_key(STREAM, 1), bytes(damaged))

    result = execute(task(1, ONE), store, ROOMY, folder)

    assert bodies(store, result) == ["lost"]
    assert result.quarantined_payloads == (("corrupt_baby", 1),)
    assert store.get(quarantine_whole_key(STREAM, 1)) == bytes(damaged)


def test_a_baby_whose_stamps_have_a_flipped_bit_loses_no_record(
    store: ObjectStore, folder: Path
) -> None:
    slices = (logs("first"), logs("last"))
    stamps = tuple(Export(digest_of(TOKEN, "logs", body), 7) for body in slices)
    put(store, 0, TokenPart(TOKEN, "logs", slices, ONE, 2, exports=stamps))
    body = bytearray(store.get(baby_key(STREAM, 0)))
    body[bytes(body).index(ONE.encode()) + 2] ^= 1
    store.put_if_absent(baby_key(STREAM, 1), bytes(body))

    result = execute(task(1, ONE), store, ROOMY, folder)

    assert sorted(bodies(store, result)) == ["first", "first", "last", "last"]
    assert result.quarantined_payloads == ()


def test_of_a_corrupt_baby_only_the_damaged_slice_is_put_aside(
    store: ObjectStore, folder: Path
) -> None:
    slices = (logs("first"), logs("damaged"), logs("last"))
    stamps = tuple(Export(bytes([n]) * 16, 7) for n in range(3))
    put(store, 0, TokenPart(TOKEN, "logs", slices, ONE, 3, exports=stamps))
    body = bytearray(store.get(baby_key(STREAM, 0)))
    body[bytes(body).index(b"damaged") + 2] ^= 1
    store.put_if_absent(baby_key(STREAM, 1), bytes(body))

    result = execute(task(1, ONE), store, ROOMY, folder)

    assert sorted(bodies(store, result)) == ["damaged", "first", "first", "last", "last"]
    assert result.quarantined_payloads == (("corrupt_slice", 1),)
    key = quarantine_key(STREAM, 1, TOKEN, "logs", 1)
    assert store.get(key) == slices[1].replace(b"damaged", b"dalaged")
    assert json.loads(store.get(f"{key}.json"))["cause"] == "corrupt_slice"


@pytest.mark.long
def test_a_payload_of_very_many_records_is_written_piece_by_piece_or_put_aside_whole(
    store: ObjectStore, folder: Path
) -> None:
    many, bad = 600_000, b"\x12\x05\x1a\x03\xff\xff\xff"
    good = _container(b"\x12\x00" * many)
    put(store, 0, part(good), is_stamped=False)
    put(store, 1, part(_container(b"\x12\x00" * many + bad)), is_stamped=False)
    routes = (Period(TOKEN, -1, {"logs": ONE}),)

    result = execute(task(1, ONE, periods=routes), store, ROOMY, folder)

    assert sum(s.facts.rows for s in result.datasets[0].segments) == many
    assert result.quarantined_payloads == (("undecodable", 1),)


def _container(records: bytes) -> bytes:
    return length_delimited(1, length_delimited(2, records))
