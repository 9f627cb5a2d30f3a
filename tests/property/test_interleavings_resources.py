"""Pairs of calls about one resource, through every order of their statements."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from meta.errors import MetaError
from meta.store.catalog import dataset_names, resources
from meta.store.catalog.resources import CarePatch, Resource, ResourceKind
from meta.v1 import catalog_pb2
from segments.dataset_names import DatasetName
from tests.support.interleaving.in_process_calls import InProcessScene
from tests.support.interleaving.interleaver import Interleaver, Work
from tests.support.interleaving.operators import Operator

_LABELS = """
    SELECT l.name, l.is_live, l.changed_at = r.changed_at
    FROM resource_labels l JOIN resources r ON r.id = l.id AND r.kind = l.kind
    WHERE l.id = :id ORDER BY l.key
"""


def _change(
    scene: InProcessScene,
    id_: UUID,
    patch: CarePatch,
    expected: str | None = None,
    kind: ResourceKind = ResourceKind.DATASET,
) -> Work:
    return lambda: scene.transactions.write(
        lambda tx: resources.change(tx, kind, id_, patch, expected)
    )


def _label(key: str) -> CarePatch:
    return CarePatch(set_labels={key: "v"})


def _get(scene: InProcessScene, id_: UUID, kind: ResourceKind = ResourceKind.DATASET) -> Resource:
    return scene.transactions.read(lambda tx: resources.get(tx, kind, id_))


def _reason(answer: object) -> str:
    return answer.reason if isinstance(answer, MetaError) else ""


def test_two_changes_of_one_resource_are_both_in_effect(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, made = operator.scene, list[UUID]()

    def make() -> tuple[Work, Work]:
        id_ = scene.dataset()
        made.append(id_)
        return _change(scene, id_, _label("a")), _change(scene, id_, _label("b"))

    outcomes = list(interleaver.explore(make))

    assert {_reason(answer) for one in outcomes for answer in (one.first, one.second)} == {""}
    for id_ in made:
        assert set(_get(scene, id_).care.labels) == {"a", "b"}
        assert [row[-1] for row in scene.rows(_LABELS, id=id_)] == [True, True]


def test_of_two_changes_for_one_version_one_is_refused(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, made = operator.scene, list[UUID]()

    def make() -> tuple[Work, Work]:
        id_ = scene.dataset()
        made.append(id_)
        version = _get(scene, id_).version
        return (
            _change(scene, id_, _label("a"), version),
            _change(scene, id_, _label("b"), version),
        )

    outcomes = list(interleaver.explore(make))

    for id_, one in zip(made, outcomes, strict=True):
        reasons = [_reason(one.first), _reason(one.second)]
        assert sorted(reasons) == ["", "RACE_LOST"]
        assert set(_get(scene, id_).care.labels) == {"ab"[reasons.index("")]}


@pytest.mark.parametrize("other", ["delete", "rename"])
def test_labels_follow_a_resource_that_is_deleted_or_renamed_meanwhile(
    interleaver: Interleaver, operator: Operator, other: str
) -> None:
    scene, made = operator.scene, list[UUID]()

    def make() -> tuple[Work, Work]:
        id_ = scene.dataset()
        made.append(id_)
        change = _change(scene, id_, _label("a"))
        return change, _other(operator, other, id_)

    outcomes = list(interleaver.explore(make))

    refused = {_reason(one.first) for one in outcomes}
    assert refused == ({"", "NOT_FOUND"} if other == "delete" else {""})
    for id_, one in zip(made, outcomes, strict=True):
        resource, rows = _get(scene, id_), scene.rows(_LABELS, id=id_)
        assert len(rows) == (not _reason(one.first))
        expected = (resource.name, resource.deleted_at is None, True)
        assert [tuple(row) for row in rows] == [expected] * len(rows)


def _other(operator: Operator, what: str, id_: UUID) -> Work:
    if what == "delete":
        return lambda: operator.delete(id_)
    name = DatasetName(None, uuid4().hex)
    return lambda: operator.scene.transactions.write(lambda tx: dataset_names.rename(tx, id_, name))


def test_a_view_is_linked_and_described_at_once(
    interleaver: Interleaver, operator: Operator
) -> None:
    scene, catalog = operator.scene, operator.catalog
    made: list[UUID] = []
    projection = scene.client.catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(name=uuid4().hex, projection="where true")
    ).id
    dataset = str(scene.dataset())

    def make() -> tuple[Work, Work]:
        request = catalog_pb2.CreateViewRequest(name=uuid4().hex)
        view = scene.client.catalog.CreateView(request).id
        made.append(UUID(view))
        link = catalog_pb2.LinkViewDatasetProjectionRequest(
            dataset_id=dataset, view_id=view, projection_id=projection
        )
        linked: Callable[[], object] = lambda: catalog.LinkViewDatasetProjection(link)  # noqa: E731
        return _change(scene, made[-1], _label("a"), kind=ResourceKind.VIEW), linked

    outcomes = list(interleaver.explore(make))

    assert {_reason(answer) for one in outcomes for answer in (one.first, one.second)} == {""}
    for id_ in made:
        resource = _get(scene, id_, ResourceKind.VIEW)
        assert (dict(resource.care.labels), resource.number) == ({"a": "v"}, 3)
