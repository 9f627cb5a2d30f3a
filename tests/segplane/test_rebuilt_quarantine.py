"""The quarantine after the catalog is rebuilt from the bucket: no record is a row twice."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from click.testing import CliRunner, Result

from dataplane.babies.payload import Payload
from dataplane.dataset_layout import read_layout
from meta.client import MetaClient
from meta.config import Settings
from meta.server import server
from meta.v1 import operations_pb2 as pb
from nursery.execution.replay import write_payload
from segments.keys import QuarantineKey, baby_key, parse_key
from segments.parquet.spec import SegmentSpec
from segplane.__main__ import app
from segplane.read import open_dataset
from tests.segplane.test_catalog_rebuild import on, rebuild
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, write_and_fail
from tests.support.schema_violations import (
    CONFORMING,
    NULL,
    OTHERS,
    PRICES,
    QUARANTINE,
    bind,
    choose,
    correct,
    listed,
    seen,
    send,
    withheld,
)
from tests.support.visible_segments import find, key_of

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="why")


@dataclass(frozen=True, slots=True)
class Stack:
    """A meta with a client, and the command line."""

    client: MetaClient
    address: str

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, arguments, env={"SEGPLANE_META_ADDRESS": self.address})


@contextmanager
def running(settings: Settings) -> Iterator[Stack]:
    started = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            yield Stack(client, f"127.0.0.1:{started.port}")
    finally:
        started.stop(2.0)


Rebuilt: TypeAlias = Callable[[CollectorDriver], AbstractContextManager[Stack]]


@pytest.fixture
def rebuilt(meta_settings: Settings, empty_database_url: str) -> Rebuilt:
    """Lose the database, rebuild the catalog, and run over it."""

    @contextmanager
    def over(collector: CollectorDriver) -> Iterator[Stack]:
        done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)
        assert done.exit_code == 0, done.output
        with running(on(meta_settings, empty_database_url)) as stack:
            collector.client = stack.client
            yield stack

    return over


def begin(stack: Stack) -> tuple[CollectorDriver, str]:
    """A collector of a dataset that is bound to its own schema."""
    collector = CollectorDriver(stack.client, dataset(stack.client))
    return collector, bind(stack.client, collector.dataset_id, QUARANTINE)


def replay(stack: Stack, *options: str) -> Result:
    (item,) = listed(stack.run)
    return stack.run("quarantine", "replay", item["key"], "--as-is", *options)


def test_records_that_a_segment_omits_still_count(
    meta_settings: Settings, rebuilt: Rebuilt
) -> None:
    with running(meta_settings) as stack:
        collector, _ = begin(stack)
        send(collector, *PRICES)
        nursery(stack.client).cycle()

    with rebuilt(collector) as stack:
        assert withheld(stack.run) == {"quarantined": (1, 2)}
        done = replay(stack)

        assert done.exit_code == 0, done.output
        assert seen(collector) == sorted(CONFORMING + OTHERS)
        assert listed(stack.run) == []


def test_records_that_became_rows_are_not_replayed(
    meta_settings: Settings, rebuilt: Rebuilt
) -> None:
    with running(meta_settings) as stack:
        collector, _ = begin(stack)
        send(collector, *PRICES)
        nursery(stack.client, write_and_fail).cycle()
        choose(stack.client, collector.dataset_id, NULL)
        nursery(stack.client).cycle()

    with rebuilt(collector) as stack:
        refused = replay(stack, "--uncounted")

        assert refused.exit_code == 1
        assert "no registration counts the payload" in refused.output
        assert seen(collector) == sorted(CONFORMING + OTHERS)


def test_records_that_are_merged_again_are_not_replayed(
    meta_settings: Settings, rebuilt: Rebuilt
) -> None:
    """Nothing in the bucket says that their offset was passed, nor what the dataset is bound to."""
    with running(meta_settings) as stack:
        collector, _ = begin(stack)
        send(collector, "two")
        nursery(stack.client).cycle()
        assert seen(collector) == []

    with rebuilt(collector) as stack:
        early = replay(stack, "--uncounted")
        nursery(stack.client).cycle()
        late = replay(stack, "--uncounted")

        assert "not yet up to 0" in early.output
        assert "no registration counts the payload" in late.output
        assert seen(collector) == ["0: two"]


def test_records_alone_in_their_baby_segment_are_replayed_by_an_operator(
    meta_settings: Settings, rebuilt: Rebuilt
) -> None:
    with running(meta_settings) as stack:
        collector, _ = begin(stack)
        send(collector, "two")
        nursery(stack.client).cycle()
        send(collector, 3)
        nursery(stack.client).cycle()
        collector.store.delete([baby_key(collector.stream_id, offset) for offset in (0, 1)])

    with rebuilt(collector) as stack:
        refused, done = replay(stack), replay(stack, "--uncounted")

        assert refused.exit_code == 1
        assert done.exit_code == 0, done.output
        assert seen(collector) == ["0: 3", "0: two"]
        assert listed(stack.run) == []


def test_records_that_were_replayed_are_not_merged_again(
    meta_settings: Settings, rebuilt: Rebuilt
) -> None:
    with running(meta_settings) as stack:
        collector, schema = begin(stack)
        send(collector, 1)
        send(collector, "two")
        nursery(stack.client).cycle()
        correct(stack.client, schema)
        assert replay(stack).exit_code == 0

    with rebuilt(collector) as stack:
        nursery(stack.client).cycle()

        assert seen(collector) == ["0: 1", "0: two"]
        assert withheld(stack.run) == {}


def test_a_replay_that_was_merged_before_its_payload_was_deleted_is_not_repeated(
    meta_settings: Settings, rebuilt: Rebuilt, tmp_path: Path
) -> None:
    with running(meta_settings) as stack:
        collector, schema = begin(stack)
        send(collector, *PRICES)
        nursery(stack.client).cycle()
        (item,) = listed(stack.run)
        left = {key: collector.store.get(key) for key in (item["key"], f"{item['key']}.json")}
        correct(stack.client, schema)
        assert replay(stack).exit_code == 0
        fill(collector, 15)
        assert merge_all(stack.client, collector.store, tmp_path, layout(collector)) == 1
        read = seen(collector)
        for key, body in left.items():
            collector.store.put_if_absent(key, body)

    with rebuilt(collector) as stack:
        done = replay(stack)

        assert done.exit_code == 0, done.output
        assert seen(collector) == read
        assert listed(stack.run) == []


def identified(stack: Stack, collector: CollectorDriver) -> dict[str, tuple[str, datetime, str]]:
    """The id, time of receipt and batch id of each record that readers see, by its body."""
    listing = json.loads(stack.run("datasets", "list", "--json").stdout)
    (name,) = (item["name"] for item in listing if item["id"] == collector.dataset_id)
    columns = ["body", "id", "ingested_at", "batch_id"]
    with open_dataset(name, "logs", columns=columns, meta_address=stack.address) as opened:
        rows = [tuple(row.values()) for row in opened.to_table().to_pylist()]
    by_body = {body: (record_id, received, batch) for body, record_id, received, batch in rows}
    assert len(by_body) == len(rows)
    return by_body


@pytest.mark.long
def test_replayed_records_keep_their_ids_over_retry_merge_and_rebuild(
    meta_settings: Settings, rebuilt: Rebuilt, tmp_path: Path
) -> None:
    """The first replay dies between put and registration; the id also tells records apart."""
    with running(meta_settings) as stack:
        collector, schema = begin(stack)
        set_settings(stack.client, collector.dataset_id, pb.DatasetSettings(record_ids=True))
        set_settings(stack.client, collector.dataset_id, pb.DatasetSettings(batch_ids=True))
        send(collector, *PRICES)
        nursery(stack.client).cycle()
        correct(stack.client, schema)
        spec = layout(collector)
        written = write_as_a_killed_replay(collector, listed(stack.run)[0], spec, tmp_path)
        assert replay(stack).exit_code == 0
        replayed = identified(stack, collector)
        assert set(written) <= {key_of(segment) for segment in find(stack.client)}
        fill(collector, 14)
        merged = merge_all(stack.client, collector.store, tmp_path / "merge", spec)
        assert merged == 1
        after_merge = identified(stack, collector)

    with rebuilt(collector) as stack:
        after_rebuild = identified(stack, collector)

    assert replayed.keys() == {*CONFORMING, *OTHERS}
    assert len({record_id for record_id, _, _ in replayed.values()}) == len(PRICES)
    # All five came in one export.
    ((_, batch_id),) = {(received, batch) for _, received, batch in replayed.values()}
    assert len(batch_id) == 32
    assert replayed.items() <= after_merge.items()
    assert after_rebuild == after_merge


def write_as_a_killed_replay(
    collector: CollectorDriver, item: dict[str, Any], spec: SegmentSpec, folder: Path
) -> list[str]:
    key, body = item["key"], collector.store.get(item["key"])
    name = parse_key(key)
    assert isinstance(name, QuarantineKey)
    payload = Payload(
        collector.stream_id,
        item["offset"],
        collector.token_id,
        "logs",
        name.slice_index or 0,
        body,
        item["received_at_nanos"],
        len(body),
        False,
        part=f"{name.piece}-{name.verdict}",
        digest=bytes.fromhex(item["batch_id"]),
    )
    request = pb.BeginReplayRequest(
        object_key=key, dataset_id=collector.dataset_id, acceptance=CONSENT
    )
    collector.client.operations.BeginReplay(request)
    # As the replay takes it: `--as-is` enforces nothing.
    taken = replace(spec, enforced=frozenset())
    written = write_payload(collector.store, payload, key, collector.dataset_id, taken, folder)
    return [segment.key for segment in written.segments]


def layout(collector: CollectorDriver) -> SegmentSpec:
    columns = get_settings(collector.client, collector.dataset_id).promoted_columns.columns
    return read_layout((), columns)


def fill(collector: CollectorDriver, segments: int) -> None:
    """Write segments of one record, until a merge has enough of them."""
    for number in range(segments):
        collector.send(f"filler {number}")
        nursery(collector.client).cycle()
