"""GetIngestStreamsForNursery: snapshots, changes, shards, bounds."""

import tracemalloc

import pytest
from sqlalchemy import text

from meta.errors import InvalidArgument, ReplyTooLarge, VersionExpired
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

GRACE_SECS = 2_100


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    return collector.register(catalog.token(dataset)).stream_id


def age_checkpoints(meta_server: MetaServer, secs: int) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "UPDATE offset_checkpoints SET created_at = created_at - make_interval(secs => :s)"
            ),
            {"s": secs},
        )


def test_a_poll_tells_unmerged_babies_lowest_first(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    for offset in range(4):
        collector.commit(stream, offset, dataset, size_bytes=100 + offset)
    nursery.merge(dataset, stream, -1, 1)

    found = nursery.stream(stream)

    assert found.committed_offset == 3
    assert [(b.offset, b.size_bytes) for b in found.unmerged_babies] == [(2, 102), (3, 103)]
    assert list(found.unmerged_babies[0].dataset_ids) == [dataset]
    assert found.unmerged_babies[0].committed_at_nanos > 1_600_000_000_000_000_000


def test_a_quiet_poll_since_the_last_one_is_empty(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    collector.commit(stream, 0, dataset)
    nursery.merge(dataset, stream, -1, 0)

    seen = nursery.poll().response_seq

    assert list(nursery.poll(since_seq=seen).streams) == []


def test_a_commit_shows_in_a_poll_since_without_a_new_version(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    seen = nursery.poll().response_seq

    collector.commit(stream, 0, dataset)

    reply = nursery.poll(since_seq=seen)
    assert [s.stream_id for s in reply.streams] == [stream]
    assert reply.response_seq == seen


def test_shards_cut_the_streams_without_overlap(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    token = catalog.token(dataset)
    made = {IngestionDriver(collector.client, f"c{n}").register(token).stream_id for n in range(12)}

    shards = [
        {s.stream_id for s in nursery.poll(shard_index=index, shard_count=3).streams}
        for index in range(3)
    ]

    assert sum(map(len, shards)) == 12
    assert set().union(*shards) == made


def test_malformed_polls_are_refused(nursery: NurseryDriver) -> None:
    with pytest.raises(InvalidArgument):
        nursery.poll(shard_index=3, shard_count=3)
    with pytest.raises(InvalidArgument):
        nursery.poll(since_seq=-1)
    with pytest.raises(InvalidArgument):
        nursery.poll(since_seq=10**6)


def test_a_poll_since_forgotten_history_has_expired(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET removals_floor = version"))

    with pytest.raises(VersionExpired):
        nursery.poll(since_seq=1)


def test_babies_may_be_reaped_once_their_merge_is_older_than_the_grace(
    meta_server: MetaServer,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    for offset in range(4):
        collector.commit(stream, offset, dataset)
    nursery.merge(dataset, stream, -1, 1)
    assert nursery.stream(stream).reapable_offset == -1

    age_checkpoints(meta_server, GRACE_SECS)
    nursery.merge(dataset, stream, 1, 3)
    assert nursery.stream(stream).reapable_offset == 1

    age_checkpoints(meta_server, GRACE_SECS)
    assert nursery.stream(stream).reapable_offset == 3


def test_the_newest_120_checkpoints_are_sent(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,"
                " ingest_timestamp_nanos) SELECT :s, :d, n, n, 0 FROM generate_series(1, 130) n"
            ),
            {"s": stream, "d": dataset},
        )

    checkpoints = nursery.stream(stream).datasets[0].offset_checkpoints

    assert [c.stream_offset for c in checkpoints] == list(range(11, 131))


@pytest.mark.long
def test_a_reply_that_cannot_fit_asks_for_shards(
    meta_server: MetaServer, nursery: NurseryDriver, dataset: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "WITH s AS (INSERT INTO ingest_streams (id, collector_id, collector_string,"
                " shard_hash) SELECT gen_random_uuid(), 'bulk-' || n, '', n"
                " FROM generate_series(1, 12000) n RETURNING id),"
                " h AS (INSERT INTO stream_heads (stream_id) SELECT id FROM s)"
                " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
                " changed_version) SELECT id, :d, -1, -1, 0 FROM s"
            ),
            {"d": dataset},
        )

    with pytest.raises(ReplyTooLarge) as refused:
        nursery.poll()

    count = int(refused.value.metadata["shard_count"])
    found = [nursery.poll(shard_index=n, shard_count=count).streams for n in range(count)]
    assert sum(map(len, found)) == 12_000


@pytest.mark.long
def test_a_reply_that_cannot_fit_is_refused_before_it_is_built(
    meta_server: MetaServer, nursery: NurseryDriver
) -> None:
    bulk = text(
        "WITH s AS (INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)"
        " SELECT gen_random_uuid(), 'bulk-' || n, '', n FROM generate_series(1, 120000) n"
        " RETURNING id) INSERT INTO stream_heads (stream_id) SELECT id FROM s"
    )
    with meta_server.running.database.write() as tx:
        tx.execute(bulk)
        tx.execute(text("ANALYZE ingest_streams, stream_heads, stream_datasets"))
    tracemalloc.start()
    try:
        with pytest.raises(ReplyTooLarge) as refused:
            nursery.poll()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < 10 * 1024 * 1024
    count = int(refused.value.metadata["shard_count"])
    assert len(nursery.poll(shard_index=0, shard_count=count).streams) > 0


def test_a_long_backlog_sends_fewer_babies_and_stays_within_the_bound(
    meta_server: MetaServer, nursery: NurseryDriver, dataset: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "WITH s AS (INSERT INTO ingest_streams (id, collector_id, collector_string,"
                " shard_hash) SELECT gen_random_uuid(), 'bulk-' || n, '', n"
                " FROM generate_series(1, 100) n RETURNING id),"
                " h AS (INSERT INTO stream_heads (stream_id, committed_offset, is_pending)"
                "  SELECT id, 499, true FROM s),"
                ' b AS (INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns,'
                "  size_bytes, num_records, dataset_ids) SELECT id, o, 1700000000000000000,"
                "  1700000001000000000, 100000, 1000, ARRAY[:d]::uuid[]"
                "  FROM s, generate_series(0, 499) o)"
                " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
                " changed_version) SELECT id, :d, -1, -1, 0 FROM s"
            ),
            {"d": dataset},
        )

    reply = nursery.poll()

    assert reply.ByteSize() <= 3.5 * 1024 * 1024
    counts = {len(s.unmerged_babies) for s in reply.streams}
    assert len(counts) == 1
    assert 100 <= counts.pop() < 500
    assert reply.streams[0].unmerged_babies[0].offset == 0
