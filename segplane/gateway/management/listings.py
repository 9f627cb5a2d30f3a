"""Lists that take more calls than one: datasets and views with their columns, usage, streams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic

from kql.errors import KqlError
from kql.typed import Columns
from meta.client import MetaClient
from meta.errors import NotFound, RoleRefused
from meta.v1 import catalog_pb2, nursery_pb2, resources_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.http.refusals import QueryRefusal, Stopped
from segplane.gateway.management.calls import call, dataset_of, page_of
from segplane.gateway.management.json_messages import Json, shown
from segplane.gateway.management.rows import ManagementAsk, Reply, Row
from segplane.read.views.view_sql import ViewUnreadable, compiled_view, table_of

DATASETS = Row(
    "GET",
    "/v1/datasets",
    "resources.ListResources",
    parameters=("columns",),
    kind="DATASET",
    is_open=True,
)
VIEWS = replace(DATASETS, path="/v1/views", kind="VIEW")
USAGE_PARAMETERS = ("dataset", "with_rows", "limit", "after")
TENANT_USAGE_PARAMETERS = ("tenant", "month", "limit", "after")


def list_datasets(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a page of the datasets that the caller may see."""

    def columns_of(dataset_id: str, name: str) -> Columns:
        return table_of(client, dataset_id, name, is_complete=True, has_words=True).columns

    return _with_columns(client, DATASETS, ask, columns_of)


def list_views(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a page of the views; none for a caller that is limited to datasets.

    A view that cannot be read has the reason in the place of its columns.
    """
    try:
        return _with_columns(
            client,
            VIEWS,
            ask,
            lambda _, name: compiled_view(client, name, is_complete=True).columns,
        )
    except RoleRefused:
        # A caller whose role may not even list datasets is refused.
        client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest())
        return Reply({"items": [], "next": None})


def list_usage(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return the usage of a page of the datasets, or of one by its name."""
    with_rows = flag_of(ask.parameters, "with_rows", default=False)
    (name,) = ask.parameters.get("dataset", ("",))[-1:]
    following = None
    if name:
        ids = [dataset_of(client, {"name": name}).id]
    else:
        limit, after = page_of(ask.parameters)
        page = catalog_pb2.PaginationRequest(limit=limit, after=after or None)
        listed = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(pagination=page))
        ids = [item.id for item in listed.items]
        following = listed.pagination.next_cursor or None
    # No id would mean all of them.
    request = ops.GetUsageRequest(dataset_ids=ids, with_rows=with_rows)
    usage = client.operations.GetUsage(request).usage if ids else ()
    return Reply({"items": [shown(each) for each in usage], "next": following})


def list_tenant_usage(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return the usage of a page of the tenants in a month, or of one in all months."""
    (name,) = ask.parameters.get("tenant", ("",))[-1:]
    (month,) = ask.parameters.get("month", ("",))[-1:]
    request = resources_pb2.GetTenantUsageRequest(month=month or None)
    if name:
        request.name = name
    request.pagination.limit, request.pagination.after = page_of(ask.parameters)
    reply = client.resources.GetTenantUsage(request)
    following = reply.pagination.next_cursor or None
    return Reply({"items": [shown(usage) for usage in reply.usage], "next": following})


def list_streams(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a page of the streams that are active, or stopped and not drained."""
    _, after = page_of(ask.parameters)
    request = nursery_pb2.GetIngestStreamsRequest(paged=True, page_cursor=after)
    reply = client.nursery.GetIngestStreamsForNursery(request)
    following = reply.next_page_cursor or None
    # Pages of datasets follow those of streams.
    return Reply(
        {
            "items": [shown(stream) for stream in reply.streams],
            "next": following if reply.streams else None,
        }
    )


def flag_of(parameters: Mapping[str, Sequence[str]], name: str, *, default: bool) -> bool:
    """Return a parameter that is true or false. Raises QueryRefusal."""
    (text,) = parameters.get(name, ("true" if default else "false",))[-1:]
    if text not in ("true", "false"):
        raise QueryRefusal(f"{name} is {text[:80]!r}, expected true or false")
    return text == "true"


def _with_columns(
    client: MetaClient, row: Row, ask: ManagementAsk, columns_of: Callable[[str, str], Columns]
) -> Reply:
    """Return a page of named things, each with its columns unless `columns` is false."""
    has_columns = flag_of(ask.parameters, "columns", default=True)
    others = {name: texts for name, texts in ask.parameters.items() if name != "columns"}
    reply = call(client, row, replace(ask, parameters=others), {})
    items = reply.content["items"]
    assert isinstance(items, list)
    if not has_columns:
        return reply
    complete = []
    for item in items:
        if monotonic() > ask.deadline:
            raise Stopped("the list took too long: ask for fewer items at a time by limit")
        columns: Json | None = {}
        if item["state"] == "live":
            columns = _columns(item, columns_of)
        complete += [] if columns is None else [item | columns]
    return replace(reply, content={**reply.content, "items": complete})


def _columns(item: Json, columns_of: Callable[[str, str], Columns]) -> Json | None:
    """Return an item's columns, or why they cannot be read; None if it has been deleted."""
    try:
        name = "/".join(str(item[part]) for part in ("group", "name") if item[part])
        columns = columns_of(str(item["id"]), name)
    except NotFound:
        return None
    except (ViewUnreadable, KqlError) as error:
        return {"error": str(error)}
    return {"columns": [{"name": n, "type": type_} for n, type_ in columns.items()]}
