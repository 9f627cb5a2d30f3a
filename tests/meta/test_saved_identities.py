"""SaveSegments for a dataset that has each event once."""

import time
from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import EventsClaimed, IdentitiesRequired, InvalidArgument, LayoutChanged
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2
from tests.support.events_once import DAY_NANOS, bind_once
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings
from tests.support.meta.event_identities import hash_of
from tests.support.meta.segments import segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def client(meta_server: MetaServer) -> MetaClient:
    return meta_server.client


def identities(client: MetaClient, dataset: str, *names: int) -> nursery_pb2.EventIdentities:
    rule = get_settings(client, dataset).event_identity.rule
    hashes = b"".join(map(hash_of, names))
    day = nursery_pb2.DayIdentities(day=time.time_ns() // DAY_NANOS, hashes=hashes)
    return nursery_pb2.EventIdentities(rule=rule, days=[day])


def save(client: MetaClient, *new: common_pb2.CreateSegment, **named: Any) -> list[str]:
    request = ingestion_pb2.SaveSegmentsRequest(segments=new, **named)
    return list(client.ingestion.SaveSegments(request).ids)


def test_segments_are_saved_with_the_identities_of_their_events(client: MetaClient) -> None:
    dataset = CatalogDriver(client).dataset("once")
    bind_once(client, dataset)
    first, second = segment_of(dataset), segment_of(dataset)
    named = identities(client, dataset, 1, 2)

    ids = save(client, first, identities=named)

    assert save(client, first, identities=named) == ids
    with pytest.raises(EventsClaimed) as refused:
        save(client, second, identities=identities(client, dataset, 3, 2))
    assert refused.value.metadata["positions"] == "1"
    # Nothing of the refused call was claimed.
    assert len(save(client, second, identities=identities(client, dataset, 3))) == 1


def test_identities_that_do_not_fit_are_refused(client: MetaClient) -> None:
    catalog = CatalogDriver(client)
    dataset, other = catalog.dataset("once"), catalog.dataset("other")
    bind_once(client, dataset)
    named = identities(client, dataset, 1)
    with pytest.raises(IdentitiesRequired):
        save(client, segment_of(dataset))
    with pytest.raises(InvalidArgument, match="several datasets"):
        save(client, segment_of(dataset), segment_of(other), identities=named)
    with pytest.raises(LayoutChanged):
        save(client, segment_of(other), identities=named)
    named.repeats = 1
    with pytest.raises(InvalidArgument, match="no baby segment"):
        save(client, segment_of(dataset), identities=named)
