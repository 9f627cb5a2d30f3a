"""A lock that is being set and what it refuses, through every order of their statements."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest

from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.services.catalog.service import CatalogServicer
from meta.services.resources import locked_calls
from meta.store.catalog.resources import ResourceKind
from meta.store.deletion import dataset_deletion, retention
from meta.store.locks import resource_locks
from meta.store.locks.resource_locks import ResourceLock
from meta.v1 import catalog_pb2, common_pb2
from segments.ids import new_uuid7
from tests.support.interleaving.in_process_calls import InProcessScene, new_segment
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.interleaving.operators import Operator

LIVE = """
    SELECT count(*) FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE d.id = :id AND s.tombstone_version IS NULL
"""


def lock_of(kind: ResourceKind, resource_id: UUID) -> ResourceLock:
    now = datetime.now(UTC)
    return ResourceLock(new_uuid7(), kind, resource_id, b"d" * 32, "an audit", "op", now, None)


def locking(transactions: Transactions, kind: ResourceKind, resource_id: UUID) -> Work:
    lock = lock_of(kind, resource_id)
    return lambda: transactions.write(lambda tx: resource_locks.set_lock(tx, lock))


def call(servicer: Any, rpc: str, request: Any) -> Work:
    """Make a call as a server does, behind the locks of its row."""
    handler: Any = grpc.unary_unary_rpc_method_handler(getattr(servicer, rpc))
    guarded = locked_calls.guarded(rpc, handler).unary_unary
    return lambda: guarded(request)


def reason(answer: object) -> str:
    return answer.reason if isinstance(answer, MetaError) else ""


@pytest.mark.parametrize("noun", ["Schema", "View"])
def test_an_entry_is_locked_or_deleted(
    interleaver: Interleaver, scene: InProcessScene, noun: str
) -> None:
    """Whoever comes first wins: no locked entry is deleted, and no deleted one is locked."""
    catalog = CatalogServicer(scene.transactions, scene.settings)
    kind = ResourceKind[noun.upper()]
    values: dict[str, Any] = {}
    if kind is ResourceKind.SCHEMA:
        values["columns"] = [common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)]

    def make() -> tuple[Work, Work]:
        new = getattr(catalog_pb2, f"Create{noun}Request")(name=uuid4().hex, **values)
        entry_id = getattr(catalog, f"Create{noun}")(new).id
        request = getattr(catalog_pb2, f"Delete{noun}Request")(id=entry_id)
        lock = locking(scene.transactions, kind, UUID(entry_id))
        return lock, call(catalog, f"Delete{noun}", request)

    outcomes = {(reason(one.first), reason(one.second)) for one in interleaver.explore(make)}

    assert outcomes == {("", "LOCKED"), ("NOT_FOUND", "")}


def test_a_dataset_is_locked_or_deleted_before(
    interleaver: Interleaver, operator: Operator
) -> None:
    """A deleted dataset can be locked; one that is locked is not deleted."""
    scene, made = operator.scene, list[UUID]()

    def make() -> tuple[Work, Work]:
        dataset_id = scene.dataset()
        made.append(dataset_id)
        request = catalog_pb2.DeleteDatasetRequest(id=str(dataset_id))
        lock = locking(scene.transactions, ResourceKind.DATASET, dataset_id)

        def lock_and_look() -> object:
            lock()
            return scene.rows("SELECT deleted_at FROM datasets WHERE id = :id", id=dataset_id)

        return lock_and_look, call(operator.catalog, "DeleteDataset", request)

    outcomes = list(interleaver.explore(make))

    assert {reason(one.second) for one in outcomes} == {"", "LOCKED"}
    for dataset_id, one in zip(made, outcomes, strict=True):
        # Nothing has changed since the lock was answered.
        later = scene.rows("SELECT deleted_at FROM datasets WHERE id = :id", id=dataset_id)
        assert one.first == later


@pytest.mark.long
@pytest.mark.parametrize("loop", ["retention", "purge"])
def test_a_loop_takes_nothing_of_a_dataset_after_its_lock_was_answered(
    interleaver: Interleaver, operator: Operator, loop: str
) -> None:
    scene, made = operator.scene, list[UUID]()
    loops: dict[str, Callable[[], object]] = {
        "retention": lambda: scene.transactions.write(retention.bury_expired),
        "purge": lambda: scene.transactions.write(lambda tx: dataset_deletion.purge(tx, 0.0)),
    }

    def make() -> tuple[Work, Work]:
        # Earlier schedules leave nothing to the loop.
        scene.execute("UPDATE datasets SET event_retention_secs = 0, purged_at = deleted_at")
        scene.execute(
            "UPDATE segments SET tombstone_version = created_version + 1, tombstone_at = now()"
        )
        dataset_id = scene.dataset()
        made.append(dataset_id)
        scene.save(new_segment(dataset_id))
        if loop == "purge":
            operator.delete(dataset_id)
        scene.execute("UPDATE datasets SET event_retention_secs = 1 WHERE id = :id", id=dataset_id)
        lock = locking(scene.transactions, ResourceKind.DATASET, dataset_id)

        def lock_and_look() -> object:
            lock()
            return scene.rows(LIVE, id=dataset_id)

        return lock_and_look, loops[loop]

    taken = set()
    for one in interleaver.explore(make):
        if reason(one.first) == "NOT_FOUND":
            assert loop == "purge"
        else:
            assert one.first == scene.rows(LIVE, id=made[-1])
        taken.add(one.second)
    assert taken == {0, 1}
