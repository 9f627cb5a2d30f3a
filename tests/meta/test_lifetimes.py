"""Rows end their life when their time is over, and not before."""

from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.errors import OffsetTaken, VersionExpired
from meta.process.shutdown import Shutdown
from meta.store.deletion import lifetimes, retired_streams
from meta.store.deletion.lifetimes import Ages
from meta.store.deletion.retired_streams import ListedStreams
from meta.watches import expiry
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

KEPT = Ages(
    checkpoint=1e6,
    grace=1e6,
    baby_row=1e6,
    retired_stream=1e6,
    identity=1e6,
    finished_task=1e6,
    audit=1e6,
    dataset_grace=1e6,
)
OVER = Ages(
    checkpoint=-1,
    grace=-1,
    baby_row=-1,
    retired_stream=-1,
    identity=-1,
    finished_task=-1,
    audit=-1,
    dataset_grace=-1,
)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(6):
        collector.commit(stream_id, offset, dataset)
    return stream_id


def forget(server: MetaServer, listed: ListedStreams, age_secs: float = -1) -> int:
    with server.running.database.write() as tx:
        return retired_streams.forget(tx, listed, age_secs)


def sweep(server: MetaServer, ages: Ages) -> dict[str, int]:
    transactions = Transactions(server.running.database)
    return {
        rule.name: taken
        for rule in (*lifetimes.FREQUENT, *lifetimes.SLOW)
        if (taken := expiry.sweep(transactions, rule, ages, Shutdown()))
    }


def count(server: MetaServer, table: str) -> int:
    with server.running.database.read() as tx:
        return int(tx.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def test_nothing_is_taken_before_its_time(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.merge(dataset, stream, -1, 2)
    nursery.register(dataset, (stream, 2, 4))
    nursery.reap(stream, 1)

    assert sweep(meta_server, KEPT) == {}


def test_a_backlog_mark_goes_once_everything_is_merged(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.merge(dataset, stream, -1, 4)
    assert "backlog" not in sweep(meta_server, KEPT)

    nursery.merge(dataset, stream, 4, 5)

    assert sweep(meta_server, KEPT)["backlog"] == 1


def test_the_newest_checkpoint_past_its_age_stays(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    for offset in range(3):
        nursery.merge(dataset, stream, offset - 1, offset)

    sweep(meta_server, OVER)

    left = nursery.stream(stream).datasets[0].offset_checkpoints
    assert [c.stream_offset for c in left] == [2]


def test_a_longer_grace_of_the_dataset_keeps_its_checkpoints(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    for offset in range(3):
        nursery.merge(dataset, stream, offset - 1, offset)
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE datasets SET tombstone_grace_secs = 100000"))

    sweep(meta_server, OVER)

    assert len(nursery.stream(stream).datasets[0].offset_checkpoints) == 3


def test_a_reaped_baby_is_forgotten_and_its_replay_refused(
    meta_server: MetaServer,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    nursery.merge(dataset, stream, -1, 3)
    nursery.reap(stream, 1)

    sweep(meta_server, OVER)

    assert count(meta_server, "baby_segments") == 4
    assert collector.commit(stream, 2, dataset).committed_offset == 5
    with pytest.raises(OffsetTaken):
        collector.commit(stream, 1, dataset)


def test_a_retired_stream_leaves_nothing_but_its_registrations(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.stop(stream, 5)
    nursery.merge(dataset, stream, -1, 5)
    nursery.reap(stream, 5)
    nursery.remove_entry(stream, dataset, 5)
    seen = nursery.poll().response_seq

    sweep(meta_server, OVER)
    assert count(meta_server, "ingest_streams") == 1
    nothing_listed = ListedStreams(None, None, ())
    assert forget(meta_server, ListedStreams(None, None, (UUID(stream),))) == 0
    assert forget(meta_server, ListedStreams(UUID(stream), None, ())) == 0
    assert forget(meta_server, nothing_listed, age_secs=1e6) == 0
    assert forget(meta_server, nothing_listed) == 1

    for table in ("ingest_streams", "stream_heads", "stream_tokens", "routing_periods"):
        assert count(meta_server, table) == 0
    assert count(meta_server, "registrations") == 1
    assert nursery.poll(since_seq=seen).removed_stream_ids == []
    with pytest.raises(VersionExpired):
        nursery.poll(since_seq=seen - 1)


def test_a_superseded_routing_goes_once_its_babies_are_merged(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
) -> None:
    token = catalog.token(dataset)
    stream = collector.register(token).stream_id
    collector.commit(stream, 0)
    catalog.route(token, traces=dataset)
    assert "routing_periods" not in sweep(meta_server, KEPT)

    nursery.merge(dataset, stream, -1, 0)

    assert sweep(meta_server, KEPT)["routing_periods"] == 1


def test_registrations_are_kept_until_no_descendant_of_their_segment_lives(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.merge(dataset, stream, -1, 3)
    with meta_server.running.database.write() as tx:
        first = tx.execute(text("SELECT id FROM segments")).scalar_one()
        output = tx.execute(
            text(
                "INSERT INTO segment_lineage VALUES (:first, gen_random_uuid()) RETURNING output_id"
            ),
            {"first": first},
        ).scalar_one()
        tx.execute(text("DELETE FROM segments"))
    sweep(meta_server, replace(KEPT, identity=-1))
    assert count(meta_server, "registrations") == 1

    with meta_server.running.database.write() as tx:
        tx.execute(text("INSERT INTO lineage_ends VALUES (:output)"), {"output": output})
    sweep(meta_server, KEPT)
    sweep(meta_server, KEPT)

    for table in ("registrations", "segment_lineage", "lineage_ends"):
        assert count(meta_server, table) == 0
