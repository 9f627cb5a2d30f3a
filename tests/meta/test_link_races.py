"""Links and changes of what they read, at the same time: one order or the other."""

from collections.abc import Callable
from functools import partial

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, StillReferenced
from meta.v1 import catalog_pb2 as pb
from meta.v1 import operations_pb2 as ops
from meta.v1.common_pb2 import KQL_TYPE_LONG, KQL_TYPE_STRING, Column
from tests.meta.test_projection_types import link, promote
from tests.meta.test_stream_races import together
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view

ROUNDS = 12


@pytest.mark.parametrize("columns", [{}, {"status": KQL_TYPE_STRING}], ids=["gone", "changed"])
def test_a_link_and_a_change_of_the_columns_it_reads(
    meta_client: MetaClient, catalog: CatalogDriver, columns: dict[str, int]
) -> None:
    projection = make_projection(meta_client, text="where status > 499")
    view = make_view(meta_client)
    linked = 0

    for number in range(ROUNDS):
        dataset = catalog.dataset(f"web{number}")
        promote(meta_client, dataset, status=KQL_TYPE_LONG)

        made, changed = together(
            partial(link, meta_client, dataset, view, projection),
            partial(promote, meta_client, dataset, **columns),
        )

        assert kept(meta_client, dataset) == (
            {"status": KQL_TYPE_LONG} if made is True else columns
        )
        assert isinstance(changed, StillReferenced) if made is True else changed is None
        assert made is True or isinstance(made, InvalidArgument)
        linked += made is True

    assert links(meta_client, view) == linked


@pytest.mark.parametrize("first", ["link", "schema"])
def test_a_link_and_a_schema_that_it_does_not_yield(
    meta_client: MetaClient, catalog: CatalogDriver, first: str
) -> None:
    schema = make_schema(meta_client, "s", Column(name="code", type=KQL_TYPE_LONG))
    projection = make_projection(meta_client, text="project body")
    dataset = catalog.dataset()

    for number in range(ROUNDS):
        view = make_view(meta_client, f"v{number}")
        calls: dict[str, Callable[[], object]] = {
            "link": partial(link, meta_client, dataset, view, projection),
            "schema": partial(set_schema, meta_client, view, schema),
        }
        order = [first, *(name for name in calls if name != first)]

        answers = dict(zip(order, together(*(calls[name] for name in order)), strict=True))

        refused = {name for name, answer in answers.items() if isinstance(answer, Exception)}
        assert len(refused) == 1, answers
        has_schema = meta_client.catalog.GetView(pb.GetViewRequest(id=view)).HasField("schema_id")
        assert has_schema == ("link" in refused)
        assert links(meta_client, view) == ("schema" in refused)


def set_schema(client: MetaClient, view: str, schema: str) -> None:
    """Give a view a schema."""
    client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=schema))


def kept(client: MetaClient, dataset: str) -> dict[str, int]:
    """Return a dataset's promoted columns with their types."""
    reply = client.operations.GetDatasetSettings(ops.GetDatasetSettingsRequest(dataset_id=dataset))
    return {c.name: int(c.type) for c in reply.settings.promoted_columns.columns}


def links(client: MetaClient, view: str) -> int:
    """Return how many links a view has."""
    request = pb.ListViewDatasetProjectionsRequest(view_id=view)
    return len(client.catalog.ListViewDatasetProjections(request).items)
