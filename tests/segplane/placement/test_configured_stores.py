"""Servers that were configured with different stores."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest

from meta import config
from meta.client import MetaClient
from meta.errors import Unavailable
from meta.process.exits import ConfigError
from meta.server import server
from meta.v1 import operations_pb2 as pb
from meta.v1 import resources_pb2, segment_lookup_pb2
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingestion_pb2 import SaveSegmentsRequest
from segments.location import NamedStore, StoreLocation
from tests.support.meta.segments import segment_of
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import for_tenants
from tests.support.placement.two_stores import COLD, Placement

DONE = pb.REWRITE_JOB_STATE_DONE


def test_a_server_does_not_start_without_a_store_that_is_in_use(
    meta_settings: config.Settings, tmp_path: Path
) -> None:
    started = server.start(meta_settings)
    with MetaClient(f"127.0.0.1:{started.port}") as client:
        meta = MetaServer(f"127.0.0.1:{started.port}", client, meta_settings, started)
        placement = Placement.of(meta, tmp_path)
        placement.finish(placement.move())
        placement.send()
    started.stop(2.0)

    with pytest.raises(ConfigError, match="META_OBJECT_STORES does not name cold"):
        server.start(replace(meta_settings, named_stores=()))


def test_a_server_does_not_start_without_the_store_of_a_tenant(
    meta_settings: config.Settings,
) -> None:
    settings = for_tenants(meta_settings)
    started = server.start(settings)
    with MetaClient(f"127.0.0.1:{started.port}") as client:
        client.resources.CreateTenant(resources_pb2.CreateTenantRequest(name="payments"))
        request = resources_pb2.SetTenantStoreRequest(name="payments", store="cold")
        client.resources.SetTenantStore(request)
    started.stop(2.0)

    with pytest.raises(ConfigError, match="META_OBJECT_STORES does not name cold"):
        server.start(replace(settings, named_stores=()))


def test_a_store_that_nothing_uses_may_be_taken_away(meta_settings: config.Settings) -> None:
    server.start(meta_settings).stop(2.0)

    server.start(replace(meta_settings, named_stores=())).stop(2.0)


def test_a_server_that_lacks_a_store_answers_no_segment_of_it(
    meta_settings: config.Settings, tmp_path: Path
) -> None:
    lacking = server.start(replace(meta_settings, named_stores=()))
    started = server.start(meta_settings)
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            meta = MetaServer(f"127.0.0.1:{started.port}", client, meta_settings, started)
            placement = Placement.of(meta, tmp_path)
            placement.send()
            placement.move()
            placement.send()
            request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[placement.name])
            shown = client.segment_lookup.FindSegments(request).segments
        ids = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=[s.id for s in shown])
        with MetaClient(f"127.0.0.1:{lacking.port}") as client:
            with pytest.raises(Unavailable, match="'cold' is not configured"):
                client.segment_lookup.FindSegments(request, timeout=2.0)
            with pytest.raises(Unavailable, match="lacks an object store"):
                client.segment_lookup.GetSegmentsByIds(ids, timeout=2.0)
    finally:
        lacking.stop(2.0)
        started.stop(2.0)


def test_a_page_is_assembled_with_the_bucket_that_each_key_names(
    placement: Placement,
) -> None:
    placement.send()
    job = placement.move()
    placement.complete(placement.claim(job))
    placement.send()

    page = placement.client.segment_lookup.FindSegments(segment_lookup_pb2.FindSegmentsRequest())

    ids = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=[s.id for s in page.segments])
    by_ids = placement.client.segment_lookup.GetSegmentsByIds(ids).segments
    assert [s.cloud_object_key for s in by_ids] == [s.cloud_object_key for s in page.segments]
    prefixes = [segment.cloud_object_key.prefix for segment in page.segments]
    assert [(p.bucket.path.rpartition("/")[2], p.prefix.count("/")) for p in prefixes] == [
        (COLD, 4),
        (COLD, 3),
    ]


def test_stores_whose_names_begin_alike_are_distinguishable(
    meta_settings: config.Settings, tmp_path: Path
) -> None:
    """Also in keys of merges, and in those whose length takes two bytes."""
    names = (COLD, f"{COLD}-2", f"{COLD}{'x' * 27}")
    paths = {f"store-{name}/": str(tmp_path / name) for name in names}
    stores = (NamedStore(n, StoreLocation.from_url(f"file://{tmp_path / n}")) for n in names)
    settings = replace(meta_settings, named_stores=tuple(stores))
    paths[""] = f"/{settings.location.path}"
    started = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            name = f"dataset-{uuid4().hex}"
            dataset_id = client.catalog.CreateDataset(CreateDatasetRequest(name=name)).id
            expected = {}
            for folder, attempt in product(paths, ("", f"{uuid4()}-1")):
                segment = segment_of(dataset_id)
                prefix = f"dataset/{dataset_id}/merged/{folder}{attempt}".rstrip("/")
                segment.cloud_object_key.prefix.prefix = prefix
                saved = client.ingestion.SaveSegments(SaveSegmentsRequest(segments=[segment]))
                expected[saved.ids[0]] = paths[folder]
            assert (
                len(prefix) < 128 <= len(f"dataset/{dataset_id}/merged/store-{names[2]}/{attempt}")
            )

            request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name])
            page = client.segment_lookup.FindSegments(request).segments

            buckets = {s.id: s.cloud_object_key.prefix.bucket.path for s in page}
            assert {i: f"/{path.lstrip('/')}" for i, path in buckets.items()} == expected
    finally:
        started.stop(2.0)
