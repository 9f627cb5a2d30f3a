"""A column that gets another name beside other calls, through every order of their statements."""

from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from meta.errors import MetaError
from meta.services.catalog.column_changes import ColumnChanges
from meta.services.catalog.service import CatalogServicer
from meta.store.catalog import dataset_layouts, datasets
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.interleaving.in_process_calls import InProcessScene, new_segment
from tests.support.interleaving.interleaver import Interleaver, Work

COLUMN = common_pb2.Column(name="price", type=common_pb2.KQL_TYPE_LONG)


def reason(answer: object) -> str:
    return answer.reason if isinstance(answer, MetaError) else ""


class Catalog:
    """Schemas of one column and datasets that follow them."""

    def __init__(self, scene: InProcessScene) -> None:
        self._scene = scene
        # Calls of entries are made by kind.
        self._catalog: Any = CatalogServicer(scene.transactions, scene.settings)

    def schema(self) -> str:
        request = catalog_pb2.CreateSchemaRequest(name=uuid4().hex, columns=[COLUMN])
        return str(self._catalog.CreateSchema(request).id)

    def renaming(self, schema_id: str, new_name: str = "cost") -> Work:
        renamed = [catalog_pb2.ColumnRename(name="price", new_name=new_name)]
        request = catalog_pb2.UpdateSchemaRequest(id=schema_id, rename_columns=renamed)
        return lambda: self._catalog.UpdateSchema(request)

    def binding(self, schema_id: str, dataset_id: UUID) -> Work:
        settings = pb.DatasetSettings(binding=pb.SchemaBinding(schema_id=schema_id))
        changes = ColumnChanges.read(settings)

        def bind() -> None:
            def work(tx: Transaction) -> None:
                datasets.lock_columns(tx, [dataset_id])
                changes.apply(tx, dataset_id)

            self._scene.transactions.write(work)

        return bind

    def columns(self, dataset_id: UUID) -> list[tuple[str, int | None, int | None]]:
        layouts = self._scene.transactions.read(lambda tx: dataset_layouts.read(tx, [dataset_id]))
        return [(c.name, c.file_id, c.field_id) for c in layouts[dataset_id].promoted_columns]


@pytest.fixture
def catalog(scene: InProcessScene) -> Catalog:
    return Catalog(scene)


@pytest.mark.long
def test_a_segment_by_the_former_name_is_registered_before_the_new_one_or_never(
    interleaver: Interleaver, scene: InProcessScene, catalog: Catalog
) -> None:
    made = list[UUID]()

    def make() -> tuple[Work, Work]:
        dataset_id, schema_id = scene.dataset(), catalog.schema()
        catalog.binding(schema_id, dataset_id)()
        made.append(dataset_id)
        ((_, file_id, _),) = catalog.columns(dataset_id)
        stream_id = scene.stream(dataset_id, committed=0)
        facts = common_pb2.SegmentFacts(promoted_field_ids=[file_id or 0])
        segment = new_segment(dataset_id)._replace(
            facts=facts.SerializeToString(), promoted_field_ids=(file_id or 0,)
        )
        return catalog.renaming(schema_id), partial(
            scene.register, stream_id, dataset_id, -1, 0, segment
        )

    outcomes = list(interleaver.explore(make))

    assert {reason(one.first) for one in outcomes} == {""}
    assert {reason(one.second) for one in outcomes} == {"", "LAYOUT_CHANGED"}
    for dataset_id, one in zip(made, outcomes, strict=True):
        ((name, file_id, number),) = catalog.columns(dataset_id)
        assert (name, file_id != number) == ("cost", True)
        ((renamed_at,),) = scene.rows(
            "SELECT changed_version FROM datasets WHERE id = :id", id=dataset_id
        )
        assert isinstance(one.second, MetaError) or one.second < renamed_at  # type: ignore[operator]


@pytest.mark.long
def test_a_dataset_that_is_bound_meanwhile_has_the_newest_name(
    interleaver: Interleaver, scene: InProcessScene, catalog: Catalog
) -> None:
    made = list[UUID]()

    def make() -> tuple[Work, Work]:
        dataset_id, schema_id = scene.dataset(), catalog.schema()
        made.append(dataset_id)
        return catalog.renaming(schema_id), catalog.binding(schema_id, dataset_id)

    outcomes = list(interleaver.explore(make))

    # The schema's call is sent again.
    assert {reason(one.first) for one in outcomes} <= {"", "RACE_LOST"}
    assert {reason(one.second) for one in outcomes} == {""}
    for dataset_id, one in zip(made, outcomes, strict=True):
        expected = "price" if isinstance(one.first, MetaError) else "cost"
        assert [name for name, _, _ in catalog.columns(dataset_id)] == [expected]


@pytest.mark.long
def test_of_two_names_a_column_gets_one(
    interleaver: Interleaver, scene: InProcessScene, catalog: Catalog
) -> None:
    made = list[UUID]()

    def make() -> tuple[Work, Work]:
        dataset_id, schema_id = scene.dataset(), catalog.schema()
        catalog.binding(schema_id, dataset_id)()
        made.append(dataset_id)
        return catalog.renaming(schema_id, "cost"), catalog.renaming(schema_id, "total")

    outcomes = list(interleaver.explore(make))

    for dataset_id, one in zip(made, outcomes, strict=True):
        reasons = {"cost": reason(one.first), "total": reason(one.second)}
        assert sorted(reasons.values()) == ["", "INVALID_ARGUMENT"]
        ((name, _, _),) = catalog.columns(dataset_id)
        assert reasons[name] == ""
