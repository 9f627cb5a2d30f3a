"""Statements that count a dataset at an older version."""

from functools import partial
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.lookup import dataset_numbers
from meta.store.lookup.dataset_numbers import DatasetNumbers
from meta.v1.resources_pb2 import GetDatasetNumbersRequest, GetDatasetNumbersResponse
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.plans import rows_of_statements
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

SEGMENTS = 10_000
# Copies of the one segment there is, as rows.
COPY = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, size_bytes,
        compressed_size_bytes, number_of_events, prefix, object_name)
    SELECT gen_random_uuid(), dataset_key, dur_class, start_ns, end_ns, created_version, size_bytes,
        compressed_size_bytes, number_of_events, prefix, n || '.parquet'
    FROM segments, generate_series(1, :count) n
""")


def test_numbers_of_an_older_version_are_one_statement_over_the_segments(
    writer: Writer, meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    """Ten thousand segments of then; those of now need no row of a segment but the ends."""
    dataset = catalog.dataset("web")

    def numbers(version: int | None) -> GetDatasetNumbersResponse:
        request = GetDatasetNumbersRequest(id=dataset, version=version)
        return writer.client.resources.GetDatasetNumbers(request)

    writer.save_many(dataset, 1)
    database = meta_server.running.database
    with database.write() as tx:
        tx.execute(COPY, {"count": SEGMENTS - 1})
    before = numbers(None).version
    writer.save_many(dataset, 1)

    def read(version: int | None, tx: Transaction) -> DatasetNumbers:
        return dataset_numbers.read(tx, UUID(dataset), version)

    of_then = rows_of_statements(database, partial(read, before), is_small=True)
    of_now = rows_of_statements(database, partial(read, None), is_small=True)

    assert numbers(before).segment_count == SEGMENTS
    assert [rows for rows in of_then if rows > 10] == [SEGMENTS]
    assert max(of_now) <= 10
