"""Lookup of datasets, views, segments and of their URLs, as a query engine does it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from kql.errors import suggestion
from meta.client import MetaClient, location, paged_lists
from meta.errors import MetaError, NotFound, RoleRefused
from meta.v1 import catalog_pb2, common_pb2, operations_pb2
from meta.v1 import segment_lookup_pb2 as pb
from segments.keys import join_key

# One GetUsage takes as many.
_USAGES_MAX = 1_000
_UNREADABLE_PAGE = 1_000
# Members of a refusal's metadata that name a dataset.
_DATASET_KEYS = ("dataset_name", "dataset")


def all_datasets(client: MetaClient, *, all_tenants: bool = False) -> list[catalog_pb2.Dataset]:
    """Read every page of the datasets of a tenant, or of all, oldest first."""
    request = catalog_pb2.ListDatasetsRequest(all_tenants=all_tenants)
    pages = paged_lists.replies(client.catalog.ListDatasets, request)
    return [dataset for page in pages for dataset in page.items]


def read_usages(
    client: MetaClient, dataset_ids: Sequence[str]
) -> Iterator[operations_pb2.DatasetUsage]:
    """Read the usage of datasets with rows and duplicates, skipping those that were deleted."""
    for start in range(0, len(dataset_ids), _USAGES_MAX):
        page = dataset_ids[start : start + _USAGES_MAX]
        try:
            request = operations_pb2.GetUsageRequest(dataset_ids=page, with_rows=True)
            yield from client.operations.GetUsage(request).usage
        except NotFound as gone:
            kept = [dataset_id for dataset_id in page if dataset_id != gone.metadata["dataset_id"]]
            yield from read_usages(client, kept)


def settings_at(
    client: MetaClient, dataset_id: str, version: int | None
) -> operations_pb2.DatasetSettings:
    """Read a dataset's settings with the columns of a version, None = of today."""
    request = operations_pb2.GetDatasetSettingsRequest(dataset_id=dataset_id, columns_at=version)
    return client.operations.GetDatasetSettings(request).settings


def all_views(client: MetaClient) -> Iterator[catalog_pb2.View]:
    """Read every page of the views, oldest first."""
    for page in paged_lists.replies(client.catalog.ListViews, catalog_pb2.ListViewsRequest()):
        yield from page.items


def view_names(client: MetaClient) -> list[str]:
    """Read the names of all views; none to a caller who is limited to datasets."""
    try:
        return [view.name for view in all_views(client)]
    except RoleRefused:
        return []


def with_suggestion(client: MetaClient, error: NotFound) -> NotFound:
    """Name the dataset that was not found and the existing one whose name comes closest.

    A refusal that says the name which a dataset has now stays as it is.
    """
    keys = () if "renamed_to" in error.metadata else _DATASET_KEYS
    name = next((error.metadata[key] for key in keys if key in error.metadata), "")
    if not name:
        return error
    message = f"there is no dataset {name!r}"
    # The caller must see the refusal, not that it could not be explained.
    with suppress(MetaError):
        if _is_view(client, name):
            message += ", it is a view: read it by open_view, option view, or segplane query"
        else:
            hint = suggestion(name, _some_names(client), "`segplane datasets list` lists them")
            message += f": {hint}"
    return NotFound(message, **error.metadata)


def _some_names(client: MetaClient) -> list[str]:
    """Names of the oldest datasets: comparing 100,000 names would take seconds."""
    page = catalog_pb2.PaginationRequest(limit=1_000)
    reply = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(pagination=page))
    return [dataset.name for dataset in reply.items]


def _is_view(client: MetaClient, name: str) -> bool:
    try:
        client.catalog.GetView(catalog_pb2.GetViewRequest(name=name))
    except MetaError:
        # There is none, or the caller may not see any.
        return False
    return True


def find_all(
    client: MetaClient, request: pb.FindSegmentsRequest
) -> Iterator[common_pb2.SegmentInfo]:
    """Read every page; all of them come from the version of the first."""
    for page in find_pages(client, request):
        yield from page.segments


def find_pages(
    client: MetaClient, request: pb.FindSegmentsRequest
) -> Iterator[pb.FindSegmentsResponse]:
    """Yield every page in turn; `request` is changed to ask for the next one."""
    while True:
        reply = client.segment_lookup.FindSegments(request)
        yield reply
        if not reply.page.HasField("next_cursor"):
            return
        request.cursor = reply.page.next_cursor


def find_unreadable(client: MetaClient) -> Iterator[common_pb2.SegmentInfo]:
    """Read every page of the segments that readers skip, oldest first."""
    request = operations_pb2.ListUnreadSegmentsRequest(unreadable=True, limit=_UNREADABLE_PAGE)
    while True:
        reply = client.operations.ListUnreadSegments(request)
        yield from reply.segments
        if not reply.next_after_segment_id:
            return
        request.after_segment_id = reply.next_after_segment_id


def object_key(segment: common_pb2.SegmentInfo) -> str:
    """Return the whole key of a segment's object."""
    return join_key(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key)


def segment_url(segment: common_pb2.SegmentInfo) -> str:
    """Return the object's location for query engines: a path, or a URL such as s3://."""
    store, key = location(segment.cloud_object_key.prefix.bucket), object_key(segment)
    if store.provider == "file":
        return f"/{join_key(store.path, key)}"
    return f"{store.root}/{key}"
