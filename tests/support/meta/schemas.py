"""Schemas, views and projections, made in one line."""

from meta.client import MetaClient
from meta.v1 import catalog_pb2 as pb
from meta.v1.common_pb2 import KQL_TYPE_LONG, KQL_TYPE_STRING, Column

UNKNOWN = "0190b5a0-0000-7000-8000-000000000000"
A = Column(name="a", type=KQL_TYPE_LONG)
# Yields the columns of A and B.
PROJECTION = "extend a = 1, b = body"
B = Column(name="b", type=KQL_TYPE_STRING)


def make_schema(client: MetaClient, name: str = "s", *columns: Column) -> str:
    request = pb.CreateSchemaRequest(name=name, columns=columns or (A, B))
    return client.catalog.CreateSchema(request).id


def make_view(client: MetaClient, name: str = "v", **fields: str) -> str:
    return client.catalog.CreateView(pb.CreateViewRequest(name=name, **fields)).id


def make_projection(client: MetaClient, name: str = "p", text: str = PROJECTION, **f: str) -> str:
    request = pb.CreateProjectionRequest(name=name, projection=text, **f)
    return client.catalog.CreateProjection(request).id


def link_view(client: MetaClient, dataset_id: str, name: str, *projections: str, **f: str) -> str:
    """Create a view that reads a dataset through projections; returns its id."""
    view = make_view(client, name, **f)
    for number, text in enumerate(projections):
        client.catalog.LinkViewDatasetProjection(
            pb.LinkViewDatasetProjectionRequest(
                dataset_id=dataset_id,
                view_id=view,
                projection_id=make_projection(client, f"{name}-{number}", text),
            )
        )
    return view
