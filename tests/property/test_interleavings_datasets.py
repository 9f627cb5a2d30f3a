"""Pairs of calls about routing and datasets, through every order of their statements."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from meta.errors import MetaError
from meta.services.catalog import CatalogServicer
from meta.services.ingest_token import IngestTokenServicer
from meta.services.ingestion import IngestionServicer
from meta.services.merge_task import MergeTaskServicer
from meta.store import merge_planning, merge_tasks
from meta.store.engine import Transaction
from meta.store.merge_tasks import TaskKind
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2, merge_task_pb2
from tests.property.interleaver import Interleaver, Outcome, Work
from tests.property.scene import NO_CONTEXT, Scene, baby, new_segment

# The routing in force for a baby without stamps, by the periods that meta keeps.
_ROUTES = """
    SELECT DISTINCT logs_dataset_id FROM (
      SELECT DISTINCT ON (token_id) logs_dataset_id FROM routing_periods
      WHERE stream_id = :stream AND from_offset <= :offset ORDER BY token_id, from_offset DESC) r
"""


@dataclass(frozen=True)
class Operator:
    """Manages tokens and datasets, and registers collectors."""

    scene: Scene
    catalog: CatalogServicer
    tokens: IngestTokenServicer
    ingestion: IngestionServicer

    def token(self, dataset_id: UUID) -> tuple[str, str]:
        """Create a token; answers its id and its plaintext."""
        name = self.scene.name_of(dataset_id)
        request = ingest_token_pb2.CreateIngestTokenRequest(name=uuid4().hex, dataset_name=name)
        reply = self.tokens.CreateIngestToken(request, NO_CONTEXT)
        return reply.token.id, reply.plaintext_token

    def route(self, token_id: str, dataset_id: UUID) -> None:
        one = str(dataset_id)
        routing = ingest_token_pb2.IngestTokenRouting(
            logs_dataset_id=one, traces_dataset_id=one, metrics_dataset_id=one
        )
        request = ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=token_id, routing=routing
        )
        self.tokens.UpdateIngestTokenRouting(request, NO_CONTEXT)

    def admit(self, collector_id: str, plaintext: str) -> UUID:
        request = ingestion_pb2.RegisterForStreamRequest(
            collector_id=collector_id, ingest_token=plaintext
        )
        return UUID(self.ingestion.RegisterForStream(request, NO_CONTEXT).stream_id)

    def delete(self, dataset_id: UUID) -> bool:
        request = catalog_pb2.DeleteDatasetRequest(id=str(dataset_id))
        return self.catalog.DeleteDataset(request, NO_CONTEXT).success


@pytest.fixture
def operator(scene: Scene) -> Operator:
    part = (scene.transactions, scene.settings)
    return Operator(
        scene, CatalogServicer(*part), IngestTokenServicer(*part), IngestionServicer(*part)
    )


@pytest.mark.parametrize("stamp", ["none", "old", "new"])
def test_a_record_is_in_exactly_one_dataset_whenever_its_routing_changes(
    interleaver: Interleaver, operator: Operator, stamp: str
) -> None:
    """The baby is committed while the token that it carries is routed to another dataset."""
    scene = operator.scene
    old, new, streams = scene.dataset(), scene.dataset(), list[UUID]()

    def make() -> tuple[Work, Work]:
        token_id, plaintext = operator.token(old)
        stream_id = operator.admit(uuid4().hex, plaintext)
        scene.commit(baby(stream_id, 0))
        streams.append(stream_id)
        stamps = {"none": (), "old": (old,), "new": (new,)}[stamp]
        return (
            lambda: operator.route(token_id, new),
            lambda: scene.commit(baby(stream_id, 1, *stamps)),
        )

    outcomes = list(interleaver.explore(make))

    assert all(one.first is None and not isinstance(one.second, Exception) for one in outcomes)
    for stream_id in streams:
        wanted = {"old": old, "new": new}.get(stamp) or _routed_to(scene, stream_id, 1)
        assert wanted in _takers(scene, stream_id, 1)
        assert _routed_to(scene, stream_id, 0) == old
        assert old in _takers(scene, stream_id, 0)
        assert new not in _takers(scene, stream_id, 0)


def test_a_collector_that_registers_while_its_routing_changes_gets_every_entry(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene = operator.scene
    old, new = scene.dataset(), scene.dataset()

    def make() -> tuple[Work, Work]:
        token_id, plaintext = operator.token(old)
        collector_id = uuid4().hex
        return (
            lambda: operator.route(token_id, new),
            lambda: operator.admit(collector_id, plaintext),
        )

    outcomes = list(interleaver.explore(make))

    for one in outcomes:
        assert isinstance(one.second, UUID)
        assert scene.merged_offset(one.second, new) == -1
        assert _routed_to(scene, one.second, 0) == new


def test_two_incarnations_of_a_collector_get_one_stream(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, dataset_id, other_id = operator.scene, operator.scene.dataset(), operator.scene.dataset()
    plaintexts = [operator.token(one)[1] for one in (dataset_id, other_id)]

    def make() -> tuple[Work, Work]:
        collector_id = uuid4().hex
        return (
            lambda: operator.admit(collector_id, plaintexts[0]),
            lambda: operator.admit(collector_id, plaintexts[1]),
        )

    for one in interleaver.explore(make):
        assert one.first == one.second
        assert isinstance(one.first, UUID)
        assert scene.merged_offset(one.first, dataset_id) == -1
        assert scene.merged_offset(one.first, other_id) == -1


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

    assert {_reason(one.first) for one in outcomes} == {"", "STILL_REFERENCED"}
    for dataset_id, one in zip(made, outcomes, strict=True):
        is_deleted = one.first is True
        references = scene.rows(
            "SELECT id FROM ingest_tokens WHERE logs_dataset_id = :id AND revoked_at IS NULL"
            " UNION ALL SELECT stream_id FROM stream_datasets WHERE dataset_id = :id",
            id=dataset_id,
        )
        assert bool(references) != is_deleted


@pytest.mark.parametrize("call", ["plan", "fail"])
def test_a_dataset_that_is_deleted_has_no_open_task(
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
        still_open = scene.rows(
            "SELECT t.id FROM merge_tasks t JOIN datasets d ON d.key = t.dataset_key"
            " WHERE d.id = :id AND t.state = 1",
            id=made[-1],
        )
        assert still_open == []


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


def _plan(scene: Scene, dataset_id: UUID, ids: list[UUID]) -> tuple[int, int]:
    def work(tx: Transaction) -> tuple[int, int]:
        ((key,),) = tx.exec_driver_sql("SELECT key FROM datasets WHERE id = %s", (dataset_id,))
        if not merge_planning.lock_dataset(tx, key):
            return 0, 0
        return merge_planning.create_tasks(tx, [ids], TaskKind.MERGE, merges_added=1)

    return scene.transactions.write(work)


def _last_failure(scene: Scene, worker: MergeTaskServicer, ids: list[UUID]) -> Callable[[], object]:
    """Claim the open task and prepare the failure after which it is split."""
    request = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="worker")
    task = worker.PollForSegmentMergeTask(request, NO_CONTEXT).task
    scene.execute(
        "UPDATE merge_tasks SET poison_failures = 4 WHERE id = :id", id=UUID(task.task_id)
    )
    assert scene.transactions.read(lambda tx: merge_tasks.find(tx, UUID(task.task_id)))
    failure = merge_task_pb2.FailSegmentMergeTaskRequest(
        task_id=task.task_id, error_message="it broke", failed_segment_id=str(ids[0])
    )
    return lambda: worker.FailSegmentMergeTask(failure, NO_CONTEXT)


def _routed_to(scene: Scene, stream_id: UUID, offset: int) -> object:
    ((dataset_id,),) = scene.rows(_ROUTES, stream=stream_id, offset=offset)
    return dataset_id


def _takers(scene: Scene, stream_id: UUID, offset: int) -> set[object]:
    """The datasets whose entries still wait for a baby or have merged it: not those begun later."""
    statement = (
        "SELECT dataset_id FROM stream_datasets WHERE stream_id = :s AND base_offset < :offset"
    )
    return {row[0] for row in scene.rows(statement, s=stream_id, offset=offset)}


def _visible(scene: Scene, dataset_id: UUID) -> list[tuple[object, ...]]:
    return scene.rows(
        "SELECT s.id FROM segments s JOIN datasets d ON d.key = s.dataset_key"
        " JOIN dataset_visibility v ON v.dataset_key = d.key"
        " WHERE d.id = :id AND v.to_version IS NULL",
        id=dataset_id,
    )


def _refusals(outcomes: Iterable[Outcome]) -> set[str]:
    return {_reason(one.second) for one in outcomes}


def _reason(answer: object) -> str:
    return answer.reason if isinstance(answer, MetaError) else ""
