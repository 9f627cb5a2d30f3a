"""Streams of one connection: all that one subject may have at once, and a health check."""

from dataclasses import replace

from meta.config import Settings
from meta.roles import Role
from meta.v1 import catalog_pb2, operations_pb2
from tests.support.meta.guarded import guarded

ANSWER_SECS = 10.0


def test_a_call_is_answered_on_the_connection_of_the_only_watch(meta_settings: Settings) -> None:
    settings = replace(meta_settings, identity_rpcs_max=1, watchers_max=1)
    with guarded(settings) as guard, guard.client(Role.READER) as client:
        watch = client.operations.WatchDataset(
            operations_pb2.WatchDatasetRequest(dataset_name="default"), timeout=60
        )
        next(watch)

        client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(), timeout=ANSWER_SECS)

        watch.cancel()
