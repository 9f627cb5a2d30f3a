"""/v1/datasets[/NAME]: datasets are created, shown, changed and deleted, with a caller's token."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from segplane.gateway.http.bodies import answer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.readers import LISTING_ROLES
from segplane.gateway.http.refusals import NotThere, WrongMediaType
from segplane.gateway.queries import datasets
from segplane.gateway.queries.dataset_asks import (
    DatasetAsk,
    asked_dataset,
    asked_schema,
    asked_to_keep_files,
)
from segplane.gateway.queries.listings import list_datasets
from segplane.gateway.queries.requests import body
from segplane.gateway.queries.responses import refuse
from segplane.gateway.queries.service import Endpoint, QueryService, answered

_JSON = "application/json"
Value = TypeVar("Value")


class DatasetRoutes:
    """Answers about datasets; meta decides which changes the caller's own token may make."""

    def __init__(self, service: QueryService) -> None:
        self._service = service

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each path."""
        return {
            path: partial(answered, "datasets", respond, refuse)
            for path, respond in (
                ("/v1/datasets", self._datasets),
                ("/v1/datasets/{name}", self._dataset),
                ("/v1/datasets/{name}/schema", self._schema),
            )
        }

    async def _datasets(self, request: Request) -> Response:
        if request.method != "POST":
            return await self._service.list_page(list_datasets, request)
        caller = await self._service.author(request)
        ask = asked_dataset(await _content(request))
        shown, is_new = await self._asked(caller, partial(datasets.create, ask))
        return answer(shown, 201 if is_new else 200)

    async def _dataset(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        read: Callable[[MetaClient], datasets.Shown]
        match request.method:
            case "GET":
                caller = await self._service.caller(request, LISTING_ROLES)
                read = partial(datasets.show, name)
            case "DELETE":
                caller = await self._service.author(request)
                keeps_files = asked_to_keep_files(request.query_params.multi_items())
                read = partial(datasets.delete, name, keeps_files=keeps_files)
            case "POST":
                caller = await self._service.author(request)
                read = partial(datasets.change, asked_dataset(await _content(request), name))
            case _:
                raise NotThere(
                    "a dataset is read with GET, changed with POST and deleted with DELETE"
                )
        return answer(await self._asked(caller, read))

    async def _schema(self, request: Request) -> Response:
        if request.method != "PUT":
            raise NotThere("a schema is bound with PUT")
        caller = await self._service.author(request)
        schema = asked_schema(await _content(request))
        ask = DatasetAsk(str(request.path_params["name"]), schema)
        return answer(await self._asked(caller, partial(datasets.change, ask)))

    async def _asked(self, caller: Caller, read: Callable[[MetaClient], Value]) -> Value:
        return await self._service.read_catalog(caller, partial(datasets.refused, read))


async def _content(request: Request) -> object:
    """Read the JSON of a change; raises QueryRefusal.

    A page of another site can make a browser send any other type without asking first.
    """
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != _JSON:
        raise WrongMediaType(f"content-type is {sent[:80]!r}, expected {_JSON}")
    content: object = await body(request)
    return content
