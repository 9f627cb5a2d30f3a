"""Datasets: the list, where the console begins, and the page of one that has no records yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import resources_pb2 as pb
from segplane.gateway.console.operate.dataset import read_dataset
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.management.times import text_of
from segplane.gateway.queries.service import QueryService

PAGE_ROWS = 50
_NAME_CHARACTERS_MAX = 255
# Behind every name that begins with a text.
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset and its live numbers; a time is "" without records."""

    name: str
    title: str
    records: int | None
    first_time: str
    last_time: str
    size_bytes: int

    def address(self) -> str:
        """Return the address of its logs."""
        return _logs_address(self.name)


class DatasetPages:
    """Pages about datasets."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            "GET /ui/": self._list,
            "GET /ui/empty": self._empty,
            "GET /ui/dataset": self._dataset,
        }

    async def _list(self, request: Request, viewer: Viewer) -> Response:
        name, after = (request.query_params.get(key, "") for key in ("name", "after"))
        _check_name(name)
        rows, following = await self._queries.read_catalog(
            viewer.caller, lambda client: _rows(client, name, after)
        )
        parameters = {"name": name} if name else {}
        first = f"/ui/?{urlencode(parameters)}" if after else ""
        following = f"/ui/?{urlencode({**parameters, 'after': following})}" if following else ""
        return self._templates.page(
            "datasets.html",
            viewer=viewer,
            active="Datasets",
            datasets=rows,
            prefix=name,
            first_address=first,
            next_address=following,
        )

    async def _dataset(self, request: Request, viewer: Viewer) -> Response:
        """Show what a dataset is, and what holds its data."""
        name = request.query_params.get("dataset", "")
        _check_name(name)
        read = partial(read_dataset, name=name)
        # Meta shows a lock's holder, and more, by the caller's role.
        reading = await self._reads.read(viewer, name, read)
        return await show(
            self._templates,
            "dataset",
            request,
            viewer,
            reading,
            "Dataset",
            active_dataset=name,
            logs_address=_logs_address(name),
        )

    async def _empty(self, request: Request, viewer: Viewer) -> Response:
        """Show how to send records; a dataset that has some by now leads to its logs."""
        name = request.query_params.get("dataset", "")
        numbers = await numbers_of(self._queries, viewer, name)
        address = f"logs?{urlencode({'dataset': name}, quote_via=quote)}"
        is_part = request.headers.get("hx-request") == "true"
        if numbers.segment_count:
            # Old records are not among those of the last hour.
            address += _range_of(numbers)
            if is_part:
                return Response(status_code=204, headers={"HX-Redirect": address})
            return RedirectResponse(address, 303)
        if is_part:
            return Response(status_code=204)
        return self._templates.page(
            "empty.html",
            viewer=viewer,
            active="Logs",
            active_dataset=name,
            dataset=name,
            address=f"/ui/empty?{urlencode({'dataset': name}, quote_via=quote)}",
        )


def _check_name(name: str) -> None:
    if len(name) > _NAME_CHARACTERS_MAX:
        raise QueryRefusal(f"the name has {len(name):,} characters, expected at most 255")


def _logs_address(name: str) -> str:
    return f"/ui/logs?{urlencode({'dataset': name}, quote_via=quote)}"


async def numbers_of(
    queries: QueryService, viewer: Viewer, name: str
) -> pb.GetDatasetNumbersResponse:
    """Return the numbers of a dataset now. Raises NotThere, QueryRefusal."""
    request = pb.GetDatasetNumbersRequest(name=name)

    def read(client: MetaClient) -> pb.GetDatasetNumbersResponse:
        try:
            return client.resources.GetDatasetNumbers(request)
        except NotFound:
            raise NotThere(f"there is no dataset {name[:80]!r}") from None

    return await queries.read_catalog(viewer.caller, read)


def _range_of(numbers: pb.GetDatasetNumbersResponse) -> str:
    bounds = {"from": text_of(numbers.start_time_nanos), "to": "now"}
    return f"&{urlencode(bounds)}"


def _rows(client: MetaClient, name: str, after: str) -> tuple[Sequence[ListedDataset], str]:
    """Return a page of datasets whose names begin with a text, and the cursor of the next."""
    request = pb.ListResourcesRequest(
        kind=pb.RESOURCE_KIND_DATASET, limit=PAGE_ROWS, after=after, order=pb.RESOURCE_ORDER_NAME
    )
    if name:
        # The bound too has at most as many characters as a name.
        bound = name[: _NAME_CHARACTERS_MAX - 1] + _LAST_CHARACTER
        request.name_from, request.name_to = name, bound
    reply = client.resources.ListResources(request)
    asked = pb.ListDatasetNumbersRequest(ids=[item.id for item in reply.items])
    listed = client.resources.ListDatasetNumbers(asked).datasets if reply.items else ()
    numbers = {each.id: each.numbers for each in listed}
    # A dataset that was deleted meanwhile has none.
    rows = [_row(item, numbers[item.id]) for item in reply.items if item.id in numbers]
    return rows, reply.next_cursor


def _row(item: pb.Resource, numbers: pb.GetDatasetNumbersResponse) -> ListedDataset:
    return ListedDataset(
        f"{item.group}/{item.name}" if item.group else item.name,
        item.title,
        numbers.record_count if numbers.HasField("record_count") else None,
        text_of(numbers.start_time_nanos) if numbers.HasField("start_time_nanos") else "",
        text_of(numbers.end_time_nanos) if numbers.HasField("end_time_nanos") else "",
        numbers.segment_size,
    )
