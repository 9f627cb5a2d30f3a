"""Polls of a stream with many more unmerged babies than a page lists."""

import pytest
from sqlalchemy import text

from meta.services.streams.poll_pages import PageRequest, Pages
from meta.services.streams.poll_reply import BABIES_MAX
from meta.store.engine.pool import Transaction
from meta.store.streams.stream_reads import StreamScope
from meta.store.versions import versions
from meta.v1 import nursery_pb2
from tests.support.meta.plans import rows_read
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets


@pytest.mark.parametrize("omits_merged", [True, False])
def test_a_page_of_a_poll_reads_as_many_babies_of_a_backlog_as_it_lists(
    meta_server: MetaServer, omits_merged: bool
) -> None:
    scene = TwoDatasets.create(meta_server)
    scene.execute(
        'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
        " num_records, dataset_ids) SELECT cast(:stream AS uuid), o, 1, 2, 3, 4,"
        " ARRAY[d.dataset_id] FROM generate_series(0, 9999) o JOIN stream_datasets d"
        " ON d.stream_id = :stream AND (d.dataset_id = :app) = (o = 9999)"
    )
    scene.execute("UPDATE stream_heads SET committed_offset = 9999, is_pending = true")
    database = scene.server.running.database
    with database.single() as tx:
        tx.execute(text("VACUUM ANALYZE"))
    scope = StreamScope(omits_merged=omits_merged)

    def page_of(tx: Transaction) -> nursery_pb2.IngestStreamInfo:
        reply = nursery_pb2.GetIngestStreamsResponse(response_seq=versions.current(tx))
        Pages(scene.server.settings.stores, 0.0).read(tx, PageRequest(scope, 0, ""), reply)
        (stream,) = reply.streams
        return stream

    def merged() -> dict[str, int]:
        with database.read() as tx:
            return {e.dataset_id: e.merged_offset for e in page_of(tx).datasets}

    # A few statements look at the babies that are listed, and at their stamps.
    assert rows_read(database, page_of, is_small=True) < 9 * BABIES_MAX
    assert merged() == {scene.web: -1} | ({} if omits_merged else {scene.app: BABIES_MAX - 1})
    scene.nursery.merge(scene.web, scene.stream, -1, 9998)
    assert merged() == {scene.app: 9998} | ({} if omits_merged else {scene.web: 9999})
