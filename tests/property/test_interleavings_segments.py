"""Pairs of calls about merge tasks and deletion, through every order of their statements."""

from dataclasses import dataclass
from uuid import UUID

import pytest

from meta.errors import NotFound, VersionExpired
from meta.services.merging.janitor import JanitorServicer
from meta.v1 import janitor_pb2
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    Read,
    attempt_of,
    new_segment,
    output_of,
)
from tests.support.interleaving.interleaver import Interleaver, Work

INPUTS = 4
EVENTS = 10 * INPUTS


@dataclass(frozen=True)
class Workshop:
    """Plans and claims merge tasks of one dataset at a time."""

    scene: InProcessScene
    janitor: JanitorServicer

    def plan(self, name: str) -> int:
        request = janitor_pb2.CreateMergeTasksRequest(dataset_name=name)
        return self.janitor.CreateMergeTasks(request).tasks_created

    def claim(self) -> tuple[UUID, int] | None:
        """Claim a task; answers it with the attempt's number."""
        task = self.scene.claim()
        return None if task is None else (task.id, task.attempt)

    def unclaim(self, task_id: UUID) -> bool:
        request = janitor_pb2.UnclaimMergeTaskRequest(task_id=str(task_id), min_claimed_secs=1)
        return self.janitor.UnclaimMergeTask(request).unclaimed

    def dataset_with_segments(self) -> tuple[UUID, str]:
        dataset_id = self.scene.dataset()
        self.scene.save(*(new_segment(dataset_id) for _ in range(INPUTS)))
        return dataset_id, self.scene.name_of(dataset_id)

    def claimed(self) -> tuple[UUID, str, UUID, int]:
        """Make a dataset with one task, which is claimed; nothing else is free."""
        self.scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
        dataset_id, name = self.dataset_with_segments()
        assert self.plan(name) == 1
        claim = self.claim()
        assert claim is not None
        return dataset_id, name, *claim

    def let_the_lease_pass(self) -> None:
        self.scene.execute(
            "UPDATE merge_tasks SET free_at = now() - interval '1 s',"
            " claimed_at = now() - interval '1 h' WHERE free_at IS NOT NULL"
        )


@pytest.fixture
def workshop(scene: InProcessScene) -> Workshop:
    part = (scene.transactions, scene.settings)
    return Workshop(scene, JanitorServicer(*part))


def test_of_two_attempts_at_a_task_only_the_current_one_is_taken(
    interleaver: Interleaver, workshop: Workshop
) -> None:
    scene, names = workshop.scene, list[str]()

    def make() -> tuple[Work, Work]:
        dataset_id, name, task_id, attempt = workshop.claimed()
        names.append(name)
        workshop.let_the_lease_pass()
        assert workshop.claim() == (task_id, attempt + 1)
        old = output_of(dataset_id, task_id, attempt, events=EVENTS)
        new = output_of(dataset_id, task_id, attempt + 1, events=EVENTS)
        return lambda: scene.complete(task_id, old), lambda: scene.complete(task_id, new)

    outcomes = list(interleaver.explore(make))

    assert {one.first for one in outcomes} <= {"TASK_FENCED", "TASK_NOT_OPEN"}
    assert {one.second for one in outcomes} == {"DONE"}
    assert all(len(scene.find(name).ids) == 1 for name in names)


def test_the_same_completion_sent_twice_at_once_swaps_once(
    interleaver: Interleaver, workshop: Workshop
) -> None:
    scene, names = workshop.scene, list[str]()

    def make() -> tuple[Work, Work]:
        dataset_id, name, task_id, attempt = workshop.claimed()
        names.append(name)
        output = output_of(dataset_id, task_id, attempt, events=EVENTS)
        work = lambda: scene.complete(task_id, output)  # noqa: E731
        return work, work

    outcomes = list(interleaver.explore(make))

    assert {(one.first, one.second) for one in outcomes} == {("DONE", "DONE")}
    assert all(len(scene.find(name).ids) == 1 for name in names)


@pytest.mark.parametrize("rival", ["poll", "unclaim"])
def test_a_completion_and_a_lost_claim_exclude_one_another(
    interleaver: Interleaver, workshop: Workshop, rival: str
) -> None:
    scene, names = workshop.scene, list[str]()

    def make() -> tuple[Work, Work]:
        dataset_id, name, task_id, attempt = workshop.claimed()
        names.append(name)
        workshop.let_the_lease_pass()
        output = output_of(dataset_id, task_id, attempt, events=EVENTS)
        take: Work = workshop.claim
        if rival == "unclaim":
            take = lambda: workshop.unclaim(task_id)  # noqa: E731
        return lambda: scene.complete(task_id, output), take

    outcomes = list(interleaver.explore(make))

    assert {(one.first, bool(one.second)) for one in outcomes} == {
        ("DONE", False),
        ("TASK_FENCED", True),
    }
    for name, one in zip(names, outcomes, strict=True):
        assert len(scene.find(name).ids) == (1 if one.first == "DONE" else INPUTS)


# 180 schedules; tests/meta/test_merge_races.py has four plannings at once in `make test`.
@pytest.mark.slow
def test_two_plannings_at_once_put_a_segment_into_one_task(
    interleaver: Interleaver, workshop: Workshop
) -> None:
    def make() -> tuple[Work, Work]:
        _, name = workshop.dataset_with_segments()
        return lambda: workshop.plan(name), lambda: workshop.plan(name)

    outcomes = list(interleaver.explore(make))

    assert {(one.first, one.second) for one in outcomes} == {(1, 0), (0, 1)}


def test_polls_at_two_servers_never_claim_one_task(
    interleaver: Interleaver, workshop: Workshop
) -> None:
    """At one server they would share a statement."""
    scene = workshop.scene

    def make() -> tuple[Work, Work]:
        scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
        _, name = workshop.dataset_with_segments()
        workshop.plan(name)
        return workshop.claim, workshop.claim

    outcomes = list(interleaver.explore(make))

    assert {(one.first is None, one.second is None) for one in outcomes} == {
        (True, False),
        (False, True),
    }


def test_an_old_version_is_read_whole_or_has_expired_while_its_objects_go(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """The janitor lists, deletes objects and confirms; a reader pages at the version before."""
    dataset_id = scene.dataset()
    name = scene.name_of(dataset_id)
    expected, answers = list[Read](), list[object]()

    def make() -> tuple[Work, Work]:
        _, (segment_id,) = scene.save(new_segment(dataset_id))
        scene.save(new_segment(dataset_id))
        before = scene.find(name)
        expected.append(before)
        version = _bury(scene, segment_id)
        assert version > before.version

        def delete() -> list[str]:
            due = scene.hand_out()
            assert scene.confirm(*due).HasField("success")
            return due

        return delete, lambda: attempt_of(lambda: scene.find(name, as_of=before.version))

    for one in interleaver.explore(make):
        assert isinstance(one.first, list)
        answers.append(one.second)

    assert {type(answer) for answer in answers} == {Read, VersionExpired}
    for answer, before in zip(answers, expected, strict=True):
        assert isinstance(answer, VersionExpired) or answer == before


def test_nothing_is_confirmed_that_was_not_handed_out(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    dataset_id, made = scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        _, (segment_id,) = scene.save(new_segment(dataset_id))
        made.append(segment_id)
        _bury(scene, segment_id)
        return scene.hand_out, lambda: scene.confirm(str(segment_id)).WhichOneof("result")

    outcomes = list(interleaver.explore(make))

    assert {one.second for one in outcomes} == {"error", "success"}
    for segment_id, one in zip(made, outcomes, strict=True):
        left = scene.rows("SELECT id FROM segments WHERE id = :id", id=segment_id)
        assert bool(left) == (one.second == "error")


def _bury(scene: InProcessScene, segment_id: UUID) -> int:
    """Tombstone a segment long ago, as a merge would."""
    scene.execute("UPDATE meta_state SET version = version + 1")
    ((version,),) = scene.rows("SELECT version FROM meta_state")
    scene.execute(
        "UPDATE segments SET tombstone_version = :version, tombstone_at = now() - interval '1 d'"
        " WHERE id = :id",
        version=version,
        id=segment_id,
    )
    assert isinstance(version, int)
    return version


def test_a_pin_is_refused_or_holds_every_segment_while_objects_are_handed_out(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """A reader pins a version while the janitor raises the horizon over it."""
    dataset_id = scene.dataset()
    name = scene.name_of(dataset_id)
    versions = list[int]()

    def make() -> tuple[Work, Work]:
        scene.execute("DELETE FROM pins")
        scene.confirm(*scene.hand_out())
        _, (segment_id,) = scene.save(new_segment(dataset_id))
        before = scene.find(name)
        _bury(scene, segment_id)
        versions.append(before.version)
        return scene.hand_out, lambda: attempt_of(lambda: scene.pin(name, before.version))

    answers = set[object]()
    for one in interleaver.explore(make):
        read = attempt_of(lambda: scene.find(name, as_of=versions[-1]))
        is_pinned = isinstance(one.second, str)
        answers.add(is_pinned)
        assert is_pinned or isinstance(one.second, VersionExpired)
        # Pinned and handed out exclude one another; a pinned version is read.
        assert is_pinned != bool(one.first)
        assert isinstance(read, Read) == is_pinned

    assert answers == {True, False}


def test_a_renewed_pin_holds_and_an_expired_one_cannot_be_renewed(
    interleaver: Interleaver, scene: InProcessScene
) -> None:
    """A lease passes while the janitor hands out and the reader renews."""
    dataset_id = scene.dataset()
    name = scene.name_of(dataset_id)

    def make() -> tuple[Work, Work]:
        scene.execute("DELETE FROM pins")
        scene.confirm(*scene.hand_out())
        _, (segment_id,) = scene.save(new_segment(dataset_id))
        pin_id = scene.pin(name, scene.find(name).version)
        _bury(scene, segment_id)
        scene.execute("UPDATE pins SET expires_at = clock_timestamp() + interval '3 ms'")
        return scene.hand_out, lambda: attempt_of(lambda: scene.renew(pin_id))

    outcomes = list(interleaver.explore(make))

    for one in outcomes:
        assert isinstance(one.second, str | NotFound)
        assert not (isinstance(one.second, str) and one.first)
