"""SaveSegments for a dataset that is deduplicated."""

import time
from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import (
    DeduplicationKeysRequired,
    EventsClaimed,
    EventsOutsideWindow,
    InvalidArgument,
    LayoutChanged,
)
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2, operations_pb2
from segments.ids import new_uuid7
from tests.support.events_once import DAY_NANOS, bind_once
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.deduplication_keys import hash_of
from tests.support.meta.segments import segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def client(meta_server: MetaServer) -> MetaClient:
    return meta_server.client


def deduplication_keys(
    client: MetaClient, dataset: str, *names: int
) -> nursery_pb2.DeduplicationKeys:
    rule = get_settings(client, dataset).deduplication.rule
    hashes = b"".join(map(hash_of, names))
    day = nursery_pb2.DayKeys(day=time.time_ns() // DAY_NANOS, hashes=hashes)
    return nursery_pb2.DeduplicationKeys(rule=rule, days=[day])


def save(client: MetaClient, *new: common_pb2.CreateSegment, **named: Any) -> list[str]:
    request = ingestion_pb2.SaveSegmentsRequest(segments=new, **named)
    return list(client.ingestion.SaveSegments(request).ids)


def test_segments_are_saved_with_the_identities_of_their_events(client: MetaClient) -> None:
    dataset = CatalogDriver(client).dataset("once")
    bind_once(client, dataset)
    first, second = segment_of(dataset), segment_of(dataset)
    named = deduplication_keys(client, dataset, 1, 2)

    ids = save(client, first, deduplication_keys=named)

    assert save(client, first, deduplication_keys=named) == ids
    with pytest.raises(EventsClaimed) as refused:
        save(client, second, deduplication_keys=deduplication_keys(client, dataset, 3, 2))
    assert refused.value.metadata["positions"] == "1"
    # Nothing of the refused call was claimed.
    assert len(save(client, second, deduplication_keys=deduplication_keys(client, dataset, 3))) == 1


def test_identities_that_do_not_fit_are_refused(client: MetaClient) -> None:
    catalog = CatalogDriver(client)
    dataset, other = catalog.dataset("once"), catalog.dataset("other")
    bind_once(client, dataset)
    named = deduplication_keys(client, dataset, 1)
    with pytest.raises(DeduplicationKeysRequired):
        save(client, segment_of(dataset))
    with pytest.raises(InvalidArgument, match="several datasets"):
        save(client, segment_of(dataset), segment_of(other), deduplication_keys=named)
    with pytest.raises(LayoutChanged):
        save(client, segment_of(other), deduplication_keys=named)
    named.duplicates = 1
    with pytest.raises(InvalidArgument, match="no baby segment"):
        save(client, segment_of(dataset), deduplication_keys=named)


def test_events_outside_the_window_are_refused_by_a_setting(client: MetaClient) -> None:
    dataset = CatalogDriver(client).dataset("once")
    bind_once(client, dataset)
    old = deduplication_keys(client, dataset, 1)
    old.days[0].day -= 9
    assert save(client, segment_of(dataset), deduplication_keys=old)
    deduplication = common_pb2.Deduplication(
        column="order_id", window_days=3, outside_window=common_pb2.OUTSIDE_WINDOW_REFUSE
    )
    set_settings(client, dataset, operations_pb2.DatasetSettings(deduplication=deduplication))
    other = deduplication_keys(client, dataset, 2)
    other.days.add(day=old.days[0].day, hashes=hash_of(3))

    with pytest.raises(EventsOutsideWindow, match="outside the window of the dataset"):
        save(client, segment_of(dataset), deduplication_keys=other)

    # Nothing of the refused call was claimed.
    assert save(
        client, segment_of(dataset), deduplication_keys=deduplication_keys(client, dataset, 2)
    )


def test_staged_events_outside_the_window_are_refused_too(client: MetaClient) -> None:
    dataset = CatalogDriver(client).dataset("once")
    bind_once(client, dataset)
    deduplication = common_pb2.Deduplication(
        column="order_id", window_days=3, outside_window=common_pb2.OUTSIDE_WINDOW_REFUSE
    )
    set_settings(client, dataset, operations_pb2.DatasetSettings(deduplication=deduplication))
    old, named = deduplication_keys(client, dataset, 1), deduplication_keys(client, dataset, 2)
    old.days[0].day -= 9
    named.staged_id, named.staged_parts = str(new_uuid7()), 1
    client.operations.StageDeduplicationKeys(
        operations_pb2.StageDeduplicationKeysRequest(staged_id=named.staged_id, days=old.days)
    )

    with pytest.raises(EventsOutsideWindow):
        save(client, segment_of(dataset), deduplication_keys=named)


@pytest.mark.parametrize("other", ["part", "registration"])
def test_an_event_in_two_parts_of_one_registration_is_refused(
    client: MetaClient, other: str
) -> None:
    """It would be claimed by both, and be two rows."""
    dataset = CatalogDriver(client).dataset("once")
    bind_once(client, dataset)
    first, second = (
        deduplication_keys(client, dataset, 1, 2),
        deduplication_keys(client, dataset, 3, 1),
    )
    second.days[0].day -= 1
    named = nursery_pb2.DeduplicationKeys(
        rule=first.rule, staged_id=str(new_uuid7()), staged_parts=1
    )
    parts = [first.days]
    if other == "part":
        parts.append(second.days)
    else:
        named.days.extend(second.days)
    named.staged_parts = len(parts)
    for number, days in enumerate(parts):
        client.operations.StageDeduplicationKeys(
            operations_pb2.StageDeduplicationKeysRequest(
                staged_id=named.staged_id, part=number, days=days
            )
        )

    with pytest.raises(InvalidArgument, match="a deduplication key is in two parts"):
        save(client, segment_of(dataset), deduplication_keys=named)

    # Nothing of the refused call was claimed.
    assert save(
        client, segment_of(dataset), deduplication_keys=deduplication_keys(client, dataset, 1, 2, 3)
    )
