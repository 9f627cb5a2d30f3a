"""Pairs of calls about datasets, through every order of their statements."""

from collections.abc import Callable, Iterable
from uuid import UUID

import pytest

from meta.errors import MetaError
from meta.services.merging.merge_task import MergeTaskServicer
from meta.store.deletion import dataset_deletion
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_planning
from meta.store.merging.merge_tasks import TaskKind
from meta.v1 import merge_task_pb2
from tests.support.interleaving.in_process_calls import (
    InProcessScene,
    baby,
    new_segment,
)
from tests.support.interleaving.interleaver import Interleaver, ScheduleOutcome, Work
from tests.support.interleaving.operators import Operator


def test_nothing_becomes_visible_in_a_dataset_that_is_deleted(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, made = operator.scene, list[UUID]()

    def make() -> tuple[Work, Work]:
        dataset_id = scene.dataset()
        made.append(dataset_id)
        return lambda: operator.delete(dataset_id), lambda: scene.save(new_segment(dataset_id))

    outcomes = list(interleaver.explore(make))

    assert {one.first for one in outcomes} == {True}
    assert _refusals(outcomes) == {"", "NOT_FOUND"}
    for dataset_id in made:
        assert _visible(scene, dataset_id) == []


@pytest.mark.parametrize("reference", ["token", "routing", "stamp"])
def test_a_dataset_that_is_deleted_has_neither_token_nor_entry(
    interleaver: Interleaver, operator: Operator, reference: str
) -> None:
    """Whoever comes first wins: the reference, which the deletion then names, or the deletion."""
    scene, made = operator.scene, list[UUID]()
    elsewhere = scene.dataset()

    def make() -> tuple[Work, Work]:
        dataset_id = scene.dataset()
        made.append(dataset_id)
        refer = _reference(operator, reference, dataset_id, elsewhere)
        return lambda: operator.delete(dataset_id), refer

    outcomes = list(interleaver.explore(make))

    # A stamp with a dataset that no token of its stream routes to makes no entry.
    refusals = set() if reference == "stamp" else {"STILL_REFERENCED"}
    assert {_reason(one.first) for one in outcomes} == {"", *refusals}
    for dataset_id, one in zip(made, outcomes, strict=True):
        is_deleted = one.first is True
        references = scene.rows(
            "SELECT id FROM ingest_tokens WHERE logs_dataset_id = :id AND revoked_at IS NULL"
            " UNION ALL SELECT stream_id FROM stream_datasets WHERE dataset_id = :id",
            id=dataset_id,
        )
        assert bool(references) != is_deleted


@pytest.mark.long
@pytest.mark.parametrize("call", ["plan", "fail"])
def test_a_deleted_dataset_keeps_no_open_task(
    interleaver: Interleaver, operator: Operator, call: str
) -> None:
    """While it is planned, or while a task fails for the last time and is split."""
    scene, made = operator.scene, list[UUID]()
    worker = MergeTaskServicer(scene.transactions, scene.settings)

    def make() -> tuple[Work, Work]:
        scene.execute("UPDATE merge_tasks SET state = 3 WHERE state = 1")
        dataset_id = scene.dataset()
        made.append(dataset_id)
        _, ids = scene.save(*(new_segment(dataset_id) for _ in range(4)))
        if call == "plan":
            return lambda: operator.delete(dataset_id), lambda: _plan(scene, dataset_id, ids)
        _plan(scene, dataset_id, ids)
        return lambda: operator.delete(dataset_id), _last_failure(scene, worker, ids)

    for one in interleaver.explore(make):
        assert one.first is True
        assert not isinstance(one.second, Exception)
        scene.transactions.write(dataset_deletion.cancel_tasks)
        still_open = scene.rows(
            "SELECT t.id FROM merge_tasks t JOIN datasets d ON d.key = t.dataset_key"
            " WHERE d.id = :id AND t.state = 1",
            id=made[-1],
        )
        assert still_open == []


def test_a_deleted_dataset_comes_back_whole_or_not_at_all(
    interleaver: Interleaver, operator: Operator
) -> None:
    """An operator undeletes it in the moment in which the sweeper ends its grace."""
    scene, made = operator.scene, list[UUID]()

    def undelete(tx: Transaction) -> bool:
        return dataset_deletion.undelete(tx, made[-1], grace_secs=3_600.0, live_max=100_000)[1]

    def purge(tx: Transaction) -> int:
        return dataset_deletion.purge(tx, 0.0)

    def make() -> tuple[Work, Work]:
        made.append(scene.dataset())
        scene.save(new_segment(made[-1]))
        operator.delete(made[-1])
        write = scene.transactions.write
        return lambda: write(undelete), lambda: write(purge)

    for one in interleaver.explore(make):
        purged = one.second
        assert (one.first is True) != (_reason(one.first) == "UNDELETE_EXPIRED")
        assert purged == (0 if one.first is True else 1)


def _reference(
    operator: Operator, reference: str, dataset_id: UUID, elsewhere: UUID
) -> Callable[[], object]:
    """A call that makes something refer to a dataset."""
    scene = operator.scene
    if reference == "token":
        return lambda: operator.token(dataset_id)
    if reference == "stamp":
        stream_id = scene.stream(elsewhere)
        return lambda: scene.commit(baby(stream_id, 0, dataset_id))
    token_id, _ = operator.token(elsewhere)
    return lambda: operator.route(token_id, dataset_id)


def _plan(scene: InProcessScene, dataset_id: UUID, ids: list[UUID]) -> tuple[int, int]:
    def work(tx: Transaction) -> tuple[int, int]:
        ((key,),) = tx.exec_driver_sql("SELECT key FROM datasets WHERE id = %s", (dataset_id,))
        if not merge_planning.lock_dataset(tx, key):
            return 0, 0
        return merge_planning.create_tasks(tx, [ids], TaskKind.MERGE, merges_added=1)

    return scene.transactions.write(work)


def _last_failure(
    scene: InProcessScene, worker: MergeTaskServicer, ids: list[UUID]
) -> Callable[[], object]:
    """Claim the open task and prepare the failure after which it is split."""
    task = scene.claim()
    assert task is not None
    scene.execute("UPDATE merge_tasks SET poison_failures = 4 WHERE id = :id", id=task.id)
    failure = merge_task_pb2.FailSegmentMergeTaskRequest(
        task_id=str(task.id), error_message="it broke", failed_segment_id=str(ids[0])
    )
    return lambda: worker.FailSegmentMergeTask(failure)


def _visible(scene: InProcessScene, dataset_id: UUID) -> list[tuple[object, ...]]:
    return scene.rows(
        "SELECT s.id FROM segments s JOIN datasets d ON d.key = s.dataset_key"
        " JOIN dataset_visibility v ON v.dataset_key = d.key"
        " WHERE d.id = :id AND v.to_version IS NULL",
        id=dataset_id,
    )


def _refusals(outcomes: Iterable[ScheduleOutcome]) -> set[str]:
    return {_reason(one.second) for one in outcomes}


def _reason(answer: object) -> str:
    return answer.reason if isinstance(answer, MetaError) else ""
