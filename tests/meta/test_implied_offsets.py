"""Merged offsets of entries that received nothing: implied, without a row or a version."""

import pytest

from meta.errors import NotDrained, OffsetConflict, OffsetNotCommitted
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; nothing is committed yet."""
    return TwoDatasets.create(meta_server)


def test_an_entry_that_receives_nothing_follows_without_a_row_or_a_version(
    scene: TwoDatasets,
) -> None:
    for offset in range(3):
        scene.collector.commit(scene.stream, offset, scene.web)
    assert scene.merged() == (-1, 2)
    before = scene.nursery.poll().response_seq

    version = scene.nursery.merge(scene.web, scene.stream, -1, 2)

    assert scene.merged() == (2, 2)
    assert version == before + 1
    assert scene.nursery.poll().response_seq == version
    assert scene.count("SELECT count(*) FROM registrations WHERE dataset_id = :app") == 0
    assert scene.count("SELECT count(*) FROM offset_checkpoints WHERE dataset_id = :app") == 0
    stored = "SELECT merged_offset FROM stream_datasets WHERE dataset_id = :app"
    assert scene.count(stored) == -1


def test_an_entry_waits_for_its_own_first_baby(scene: TwoDatasets) -> None:
    for offset, dataset in enumerate((scene.web, scene.web, scene.app, scene.web, scene.app)):
        scene.collector.commit(scene.stream, offset, dataset)
    assert scene.merged() == (-1, 1)

    scene.nursery.merge(scene.app, scene.stream, 1, 2)

    assert scene.merged() == (-1, 3)
    assert [b.offset for b in scene.nursery.stream(scene.stream).unmerged_babies] == [*range(5)]


@pytest.mark.parametrize("start", [-1, 0, 1])
def test_a_registration_may_begin_anywhere_from_the_stored_to_the_implied_offset(
    scene: TwoDatasets, start: int
) -> None:
    for offset, dataset in enumerate((scene.web, scene.web, scene.app)):
        scene.collector.commit(scene.stream, offset, dataset)

    version = scene.nursery.merge(scene.app, scene.stream, start, 2)

    assert scene.merged() == (-1, 2)
    at = pb.GetOffsetsAtRequest(dataset_id=scene.app, version=version)
    (offset_at,) = scene.nursery.client.operations.GetOffsetsAt(at).offsets
    assert offset_at.stream_offset == 2
    assert scene.findings() == []


def test_no_registration_begins_beyond_its_own_baby(scene: TwoDatasets) -> None:
    for offset, dataset in enumerate((scene.web, scene.app, scene.web, scene.app)):
        scene.collector.commit(scene.stream, offset, dataset)

    with pytest.raises(OffsetConflict) as refusal:
        scene.nursery.merge(scene.app, scene.stream, 2, 3)

    # What a poll says: babies below may have been reaped.
    assert refusal.value.metadata[f"merged_offset.{scene.stream}"] == "0"
    assert scene.merged() == (-1, 0)


def test_no_registration_begins_beyond_what_is_committed(scene: TwoDatasets) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)

    with pytest.raises(OffsetConflict):
        scene.nursery.register(scene.app, (scene.stream, 1, 2))
    with pytest.raises(OffsetNotCommitted):
        scene.nursery.register(scene.app, (scene.stream, 0, 1))


def test_of_two_nurseries_that_saw_different_offsets_one_loses(scene: TwoDatasets) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, scene.app)
    scene.nursery.merge(scene.app, scene.stream, 0, 1)

    for start in (-1, 0):
        with pytest.raises(OffsetConflict):
            scene.nursery.merge(scene.app, scene.stream, start, 1)


@pytest.mark.parametrize("is_swept", [False, True])
def test_a_repeated_registration_is_recognised_by_the_start_it_named(
    scene: TwoDatasets, is_swept: bool
) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, scene.app)
    request = scene.nursery.request(
        scene.app, (scene.stream, 0, 1), segment=scene.nursery.segment(scene.app)
    )
    first = scene.nursery.client.nursery.RegisterMergedSegment(request)
    if is_swept:
        scene.nursery.merge(scene.web, scene.stream, -1, 1)
        scene.nursery.reap(scene.stream, 1)
        scene.sweep()

    again = scene.nursery.client.nursery.RegisterMergedSegment(request)

    assert again.segment_version == first.segment_version


def test_a_baby_without_stamps_has_to_be_passed_by_every_entry(scene: TwoDatasets) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1)
    scene.collector.commit(scene.stream, 2, scene.web)
    assert scene.merged() == (-1, 0)

    scene.nursery.register(scene.app, (scene.stream, 0, 1))

    assert scene.merged() == (-1, 2)


def test_a_stamp_without_an_entry_has_to_be_passed_by_every_entry(scene: TwoDatasets) -> None:
    catalog = CatalogDriver(scene.nursery.client)
    foreign = catalog.dataset("foreign")
    scene.collector.commit(scene.stream, 0, scene.web, foreign)
    assert scene.merged() == (-1, -1)
    scene.nursery.merge(scene.web, scene.stream, -1, 0)
    assert scene.merged() == (0, -1)
    with pytest.raises(NotDrained):
        scene.nursery.reap(scene.stream, 0)

    scene.nursery.register(scene.app, (scene.stream, -1, 0))

    assert scene.merged() == (0, 0)


def test_a_stamp_that_gets_an_entry_later_is_still_passed_by_every_entry(
    scene: TwoDatasets,
) -> None:
    """Its records are for the quarantine, whether a nursery has begun with it or not."""
    catalog = CatalogDriver(scene.nursery.client)
    late = catalog.dataset("late")
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, late)
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    scene.sweep()

    catalog.route(scene.token, logs=scene.web, traces=scene.app, metrics=late)

    assert scene.merged() == (1, 0)
    assert scene.nursery.merged_offset(scene.stream, late) == 1
    entries = {e.dataset_id: e for e in scene.nursery.stream(scene.stream).datasets}
    assert entries[late].base_offset == 1
    assert not entries[scene.web].HasField("base_offset")
    with pytest.raises(NotDrained):
        scene.nursery.reap(scene.stream, 1)
    scene.nursery.register(scene.app, (scene.stream, 0, 1))
    scene.nursery.reap(scene.stream, 1)
    assert scene.findings() == []


def test_entries_that_receive_nothing_hold_up_no_reaping(scene: TwoDatasets) -> None:
    for offset in range(3):
        scene.collector.commit(scene.stream, offset, scene.web)
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    with pytest.raises(NotDrained):
        scene.nursery.reap(scene.stream, 2)
    grace = "UPDATE offset_checkpoints SET created_at = created_at - interval '1 day'"
    assert scene.nursery.stream(scene.stream).reapable_offset == -1
    scene.execute(grace)
    assert scene.nursery.stream(scene.stream).reapable_offset == 1

    scene.nursery.reap(scene.stream, 1)

    assert scene.nursery.stream(scene.stream).deleted_offset == 1
    assert scene.merged() == (1, 2)
