"""Pairs of calls about damage, through every order of their statements."""

from uuid import UUID

import pytest

from meta.errors import NothingToRepair, OffsetConflict
from meta.services.merging.janitor import JanitorServicer
from meta.store.damage.replays import Replay
from meta.v1 import janitor_pb2
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    attempt_of,
    new_segment,
    output_of,
)
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.interleaving.repairs import Repairs

INPUTS = 4


@pytest.fixture
def repairs(scene: InProcessScene) -> Repairs:
    return Repairs(scene)


def test_a_merge_and_the_hiding_of_its_input_exclude_one_another(
    interleaver: Interleaver, repairs: Repairs
) -> None:
    """Hidden records must not come back in an output that nobody looked at."""
    scene, names = repairs.scene, list[str]()
    janitor = JanitorServicer(scene.transactions, scene.settings)

    def make() -> tuple[Work, Work]:
        scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
        dataset_id = scene.dataset()
        names.append(scene.name_of(dataset_id))
        _, ids = scene.save(*(new_segment(dataset_id) for _ in range(INPUTS)))
        request = janitor_pb2.CreateMergeTasksRequest(dataset_name=names[-1])
        assert janitor.CreateMergeTasks(request).tasks_created == 1
        task = scene.claim()
        assert task is not None
        output = output_of(dataset_id, task.id, task.attempt, events=10 * INPUTS)
        return (
            lambda: scene.complete(task.id, output),
            lambda: attempt_of(lambda: repairs.hide(ids[0])),
        )

    is_merged = set[bool]()
    for one in interleaver.explore(make):
        is_merged.add(one.first == "DONE")
        assert isinstance(one.second, NothingToRepair) == (one.first == "DONE")
        left = 1 if one.first == "DONE" else INPUTS - 1
        assert len(scene.find(names[-1]).ids) == left

    assert is_merged == {True, False}


def test_a_baby_is_merged_or_skipped_and_never_both(
    interleaver: Interleaver, repairs: Repairs
) -> None:
    scene, made = repairs.scene, list[UUID]()
    dataset_id = scene.dataset()

    def make() -> tuple[Work, Work]:
        stream_id = scene.stream(dataset_id, committed=2)
        made.append(stream_id)
        scene.register(stream_id, dataset_id, -1, 0, new_segment(dataset_id))
        repairs.park(stream_id, 1)
        return (
            lambda: attempt_of(
                lambda: scene.register(stream_id, dataset_id, 0, 2, new_segment(dataset_id))
            ),
            lambda: attempt_of(lambda: repairs.skip(stream_id, 1)),
        )

    is_skipped = set[bool]()
    for one in interleaver.explore(make):
        is_skipped.add(isinstance(one.second, list))
        assert isinstance(one.first, OffsetConflict) == isinstance(one.second, list)
        assert isinstance(one.second, list | NothingToRepair)
        assert bool(repairs.losses(made[-1], 1)) == isinstance(one.second, list)

    assert is_skipped == {True, False}


@pytest.mark.parametrize("rival", ["complete", "drop"])
def test_a_payload_is_replayed_once_or_dropped(
    interleaver: Interleaver, repairs: Repairs, rival: str
) -> None:
    scene, names = repairs.scene, list[str]()

    def make() -> tuple[Work, Work]:
        dataset_id = scene.dataset()
        names.append(scene.name_of(dataset_id))
        stream_id = scene.stream(dataset_id, committed=0)
        scene.register(stream_id, dataset_id, -1, 0)
        payload, new = repairs.begun(stream_id, dataset_id), new_segment(dataset_id)
        work = lambda: attempt_of(lambda: repairs.complete(payload, new))  # noqa: E731
        if rival == "complete":
            return work, work
        return work, lambda: attempt_of(lambda: repairs.drop(payload, dataset_id))

    for one in interleaver.explore(make):
        is_replayed = isinstance(one.first, Replay)
        assert len(scene.find(names[-1]).ids) == is_replayed
        if rival == "complete":
            assert one.first == one.second
            assert is_replayed
        else:
            assert isinstance(one.first, Replay | NothingToRepair)
            assert isinstance(one.second, NothingToRepair) == is_replayed
