"""A stream with many entries takes only baby segments that name their datasets."""

from uuid import UUID

import pytest
from sqlalchemy import text

from meta.errors import InvalidArgument
from meta.services.streams.unstamped_commits import ENTRIES_MAX
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer

_ENTRIES = text(
    "INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
    " changed_version) SELECT :stream, gen_random_uuid(), -1, -1, 0 FROM generate_series(1, :count)"
)


@pytest.mark.parametrize("surplus", [0, 1])
def test_a_baby_without_stamps_is_refused_on_a_stream_with_more_entries_than_a_page(
    meta_server: MetaServer, catalog: CatalogDriver, collector: IngestionDriver, surplus: int
) -> None:
    dataset = catalog.dataset()
    stream_id = collector.register(catalog.token(dataset)).stream_id
    with meta_server.running.database.write() as tx:
        tx.execute(_ENTRIES, {"stream": UUID(stream_id), "count": ENTRIES_MAX - 1 + surplus})

    if surplus:
        with pytest.raises(InvalidArgument, match="dataset_ids"):
            collector.commit(stream_id, 0)
        collector.commit(stream_id, 0, dataset)
    else:
        collector.commit(stream_id, 0)


def test_a_repetition_is_answered_though_the_stream_has_grown(
    meta_server: MetaServer, catalog: CatalogDriver, collector: IngestionDriver
) -> None:
    stream_id = collector.register(catalog.token(catalog.dataset())).stream_id
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
                " num_records) SELECT stream_id, 0, 1000, 2000, 1000, 10 FROM stream_heads"
            )
        )
        tx.execute(text("UPDATE stream_heads SET committed_offset = 0, is_pending = true"))
        tx.execute(_ENTRIES, {"stream": UUID(stream_id), "count": ENTRIES_MAX})

    with pytest.raises(InvalidArgument, match="dataset_ids"):
        collector.commit(stream_id, 1)
    collector.commit(stream_id, 0)
