"""I13 and I4 through a restore: what a database forgot is never handed out again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import VersionExpired
from meta.server import server
from meta.v1 import (
    catalog_pb2,
    ingestion_pb2,
    nursery_pb2,
    operations_pb2,
    segment_lookup_pb2,
)
from segplane.stack.postgres import EmbeddedPostgres
from tests.property.new_segments import full_key, new_segment

NAME = "web"


@contextmanager
def running(settings: Settings, url: str) -> Iterator[MetaClient]:
    started = server.start(replace(settings, database=replace(settings.database, url=url)))
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            yield client
    finally:
        started.stop(2.0)


def copy_database(postgres: EmbeddedPostgres, source: str, target: str) -> None:
    """Back up a database that nobody is connected to."""
    names = [sql.Identifier(make_url(url).database or "") for url in (target, source)]
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(names[0]))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    # What Postgres does at the end of a recovery is to begin another timeline.
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("UPDATE meta_state SET timeline = timeline - 1")


def save(client: MetaClient, dataset_id: str) -> str:
    segment = new_segment(dataset_id, f"{uuid4()}.parquet")
    client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=[segment]))
    return full_key(segment)


def find(client: MetaClient, as_of: int | None = None) -> tuple[int, set[str]]:
    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[NAME], as_of_version=as_of)
    reply = client.segment_lookup.FindSegments(request)
    return reply.snapshot_version, set(map(full_key, reply.segments))


def seq(client: MetaClient) -> int:
    request = nursery_pb2.GetIngestStreamsRequest()
    return client.nursery.GetIngestStreamsForNursery(request).response_seq


def test_a_restored_database_goes_on_above_all_that_was_lost(
    postgres: EmbeddedPostgres, meta_settings: Settings, database_url: str, empty_database_url: str
) -> None:
    backup_url = empty_database_url
    with running(meta_settings, database_url) as client:
        dataset_id = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=NAME)).id
        kept = save(client, dataset_id)
        known, _ = find(client)
    copy_database(postgres, database_url, backup_url)
    with running(meta_settings, database_url) as client:
        save(client, dataset_id)
        lost, _ = find(client)
        seen = seq(client)

    with running(meta_settings, backup_url) as one, running(meta_settings, backup_url) as other:
        assert seq(one) == seq(other) > seen
        version, visible = find(one)
        assert version > lost
        assert visible == {kept}
        assert find(other, known) == (known, {kept})
        with pytest.raises(VersionExpired):
            find(one, lost)
        added = save(other, dataset_id)
        assert find(one)[1] == {kept, added}
        state = one.operations.GetServerState(operations_pb2.GetServerStateRequest())
        assert state.deletion_held


def test_a_second_restore_keeps_what_the_first_one_lost_expired(
    meta_settings: Settings, database_url: str
) -> None:
    lost = []
    with running(meta_settings, database_url) as client:
        dataset_id = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=NAME)).id
    for _ in range(3):
        with running(meta_settings, database_url) as client:
            save(client, dataset_id)
            kept, _ = find(client)
            save(client, dataset_id)
            save(client, dataset_id)
            lost.append(kept + 1)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(
                "UPDATE meta_state SET timeline = timeline - 1, version = %s", (kept,)
            )

    with running(meta_settings, database_url) as client:
        assert find(client, kept)[0] == kept
        for version in lost:
            with pytest.raises(VersionExpired):
                find(client, version)
            with pytest.raises(VersionExpired):
                client.operations.GetOffsetsAt(
                    operations_pb2.GetOffsetsAtRequest(dataset_id=dataset_id, version=version)
                )
