"""ListUnmergedBabies: with a version's segments, all that was committed at the first page, once."""

from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import CursorInvalid, InvalidArgument, NotFound, ReplyTooLarge, VersionExpired
from meta.services.lookup import unmerged_babies
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

Offsets = dict[str, list[int]]


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def streams(
    meta_client: MetaClient, catalog: CatalogDriver, nursery: NurseryDriver, dataset: str
) -> list[str]:
    """Give two streams of six babies each, of which the first four are merged."""
    token, made = catalog.token(dataset), []
    for name in ("a", "b"):
        collector = IngestionDriver(meta_client, name)
        stream_id = collector.register(token).stream_id
        for offset in range(6):
            collector.commit(stream_id, offset, dataset)
        nursery.merge(dataset, stream_id, -1, 3)
        made.append(stream_id)
    return sorted(made)


def page(client: MetaClient, dataset: str, **fields: object) -> pb.ListUnmergedBabiesResponse:
    request = pb.ListUnmergedBabiesRequest(dataset_id=dataset, **fields)  # type: ignore[arg-type]
    return client.operations.ListUnmergedBabies(request)


def offsets(reply: pb.ListUnmergedBabiesResponse) -> Offsets:
    return {one.stream_id: [baby.offset for baby in one.babies] for one in reply.streams}


def commit(client: MetaClient, stream_id: str, offset: int, *datasets: str) -> None:
    IngestionDriver(client, "").commit(stream_id, offset, *datasets)


def test_babies_beyond_the_current_version_are_listed(
    meta_server: MetaServer, meta_client: MetaClient, streams: list[str], dataset: str
) -> None:
    reply = page(meta_client, dataset)

    assert offsets(reply) == {stream: [4, 5] for stream in streams}
    assert reply.version == page(meta_client, dataset, version=reply.version).version
    assert [one.stream_id for one in reply.streams] == streams
    assert reply.streams[0].cloud_object_prefix.prefix == f"ingest-stream/{streams[0]}"
    assert reply.next_cursor == ""


def test_an_older_version_has_more_babies_beyond_it(
    meta_client: MetaClient, nursery: NurseryDriver, streams: list[str], dataset: str
) -> None:
    version = nursery.merge(dataset, streams[0], 3, 4)

    assert offsets(page(meta_client, dataset, version=version - 1))[streams[0]] == [4, 5]
    assert offsets(page(meta_client, dataset, version=version))[streams[0]] == [5]


def test_pages_show_what_was_committed_and_merged_at_the_first(
    meta_client: MetaClient, nursery: NurseryDriver, streams: list[str], dataset: str
) -> None:
    first = page(meta_client, dataset, limit=1)
    for stream in streams:
        commit(meta_client, stream, 6, dataset)
        nursery.merge(dataset, stream, 3, 6)

    pages = [first]
    while pages[-1].next_cursor:
        pages.append(page(meta_client, dataset, limit=1, cursor=pages[-1].next_cursor))

    assert {reply.version for reply in pages} == {first.version}
    listed = [(s, o) for reply in pages for s, found in offsets(reply).items() for o in found]
    assert listed == [(stream, offset) for stream in streams for offset in (4, 5)]
    assert offsets(page(meta_client, dataset)) == {}


def test_babies_stamped_for_others_are_skipped_and_unstamped_ones_are_not(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    nursery: NurseryDriver,
    streams: list[str],
    dataset: str,
) -> None:
    other = catalog.dataset("other")
    commit(meta_client, streams[0], 6, other)
    commit(meta_client, streams[0], 7)

    before = page(meta_client, dataset)
    nursery.merge(dataset, streams[0], 3, 7)

    assert offsets(before)[streams[0]] == [4, 5, 7]
    # Nobody remembers where the records of offset 7 were routed, once they are merged.
    with pytest.raises(VersionExpired):
        page(meta_client, dataset, version=before.version)


def test_a_version_has_expired_once_babies_beyond_it_may_be_reaped(
    meta_server: MetaServer,
    meta_client: MetaClient,
    nursery: NurseryDriver,
    streams: list[str],
    dataset: str,
) -> None:
    first = page(meta_client, dataset, limit=1)
    nursery.merge(dataset, streams[1], 3, 5)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE registrations SET created_at = created_at - interval '1 day'")

    with pytest.raises(VersionExpired):
        page(meta_client, dataset, version=first.version)
    with pytest.raises(VersionExpired):
        page(meta_client, dataset, cursor=first.next_cursor)
    assert offsets(page(meta_client, dataset)) == {streams[0]: [4, 5]}


def test_cursors_are_bound_to_their_dataset(
    meta_client: MetaClient, catalog: CatalogDriver, streams: list[str], dataset: str
) -> None:
    cursor = page(meta_client, dataset, limit=1).next_cursor
    other = catalog.dataset("other")

    for dataset_id, wrong in ((other, cursor), (dataset, cursor[:-4]), (dataset, "x")):
        with pytest.raises(CursorInvalid):
            page(meta_client, dataset_id, cursor=wrong)
    with pytest.raises(NotFound):
        page(meta_client, streams[0])
    with pytest.raises(InvalidArgument):
        page(meta_client, dataset, version=10**9)


class TestOldCursors:
    """A lifetime of cursors that is over at once."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, cursor=-1.0))

    def test_an_old_cursor_is_refused(
        self, meta_client: MetaClient, streams: list[str], dataset: str
    ) -> None:
        cursor = page(meta_client, dataset, limit=1).next_cursor

        with pytest.raises(CursorInvalid):
            page(meta_client, dataset, cursor=cursor)


def add_streams(meta_server: MetaServer, dataset: str, count: int) -> None:
    """Add streams with one unmerged baby each."""
    statement = text("""
        WITH made AS (INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
            SELECT gen_random_uuid(), gen_random_uuid()::text, '', 1
            FROM generate_series(1, :count) RETURNING id),
        heads AS (INSERT INTO stream_heads (stream_id, committed_offset, is_pending)
            SELECT id, 0, true FROM made),
        babies AS (INSERT INTO baby_segments
                (stream_id, "offset", start_ns, end_ns, size_bytes, num_records, dataset_ids)
            SELECT id, 0, 1, 1, 1, 1, ARRAY[cast(:dataset AS uuid)] FROM made)
        INSERT INTO stream_datasets
            (stream_id, dataset_id, merged_offset, base_offset, changed_version)
        SELECT id, :dataset, -1, -1, 0 FROM made
    """)
    with meta_server.running.database.write() as tx:
        tx.execute(statement, {"count": count, "dataset": dataset})


@pytest.mark.long
def test_one_stream_more_than_a_cursor_holds_is_refused(
    meta_server: MetaServer, meta_client: MetaClient, dataset: str
) -> None:
    add_streams(meta_server, dataset, unmerged_babies.STREAMS_MAX)
    first = page(meta_client, dataset, limit=10_000)
    second = page(meta_client, dataset, limit=10_000, cursor=first.next_cursor)
    add_streams(meta_server, dataset, 1)

    assert len(first.streams) + len(second.streams) >= 10_000
    assert {s.stream_id for s in first.streams}.isdisjoint(s.stream_id for s in second.streams)
    with pytest.raises(ReplyTooLarge):
        page(meta_client, dataset)


def add_large_babies(meta_server: MetaServer, stream_id: str, offsets: range) -> None:
    """Add babies with stamps of 200 other datasets each, and of all that there are."""
    statements = (
        "INSERT INTO datasets (id, name)"
        " SELECT gen_random_uuid(), 'other ' || n FROM generate_series(1, 200) n",
        'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
        " num_records, dataset_ids) SELECT :stream, n, 1, 1, 1, 1,"
        " (SELECT array_agg(id) FROM datasets)"
        " FROM generate_series(cast(:first AS integer), :last) n",
        "UPDATE stream_heads SET committed_offset = :last WHERE stream_id = :stream",
    )
    values = {"stream": UUID(stream_id), "first": offsets[0], "last": offsets[-1]}
    with meta_server.running.database.write() as tx:
        for statement in statements:
            tx.execute(text(statement), values)


def test_a_page_ends_at_its_size(
    meta_server: MetaServer, meta_client: MetaClient, streams: list[str], dataset: str
) -> None:
    """Stamps of many datasets make large babies."""
    add_large_babies(meta_server, streams[0], range(6, 700))

    first = page(meta_client, dataset)
    second = page(meta_client, dataset, cursor=first.next_cursor)

    assert 3_000_000 < first.ByteSize() <= REPLY_BYTES_MAX
    listed = offsets(first)[streams[0]] + offsets(second)[streams[0]]
    assert listed == list(range(4, 4 + len(listed)))
