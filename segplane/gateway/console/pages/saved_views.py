"""Saving a search as a view: a form that names the effect, and the change that it asks for."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kql.errors import KqlError
from kql.syntax.parser import parse_query
from kql.syntax.tree import Name
from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from meta.v1 import catalog_pb2 as pb
from segplane.gateway.console.kql_text import quoted_name
from segplane.gateway.console.logs.asked import parse_ask
from segplane.gateway.console.logs.records import logs_of, source
from segplane.gateway.console.logs.search import parse_search
from segplane.gateway.console.query.asked import QUERY_PATH, QueryAsk, parse_query_ask
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.failures import refusal_of
from segplane.gateway.http.refusals import CatalogConflict, NotAllowed, QueryRefusal
from segplane.gateway.queries.service import QueryService

_NAME_CHARACTERS_MAX = 255
_KQL_CHARACTERS_MAX = 16_384
_DESCRIPTION_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A dataset, and the operators of KQL on its records that a view is of."""

    dataset: str
    kql: str
    name: str = ""
    description: str = ""


class SavedViewPages:
    """Pages that save a search of logs, or a query in KQL, as a view of a dataset."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            "GET /ui/logs/save": self._of_logs,
            f"GET {QUERY_PATH}/save": self._of_query,
            "POST /ui/views": self._create,
        }

    async def _of_logs(self, request: Request, viewer: Viewer) -> Response:
        _check(viewer)
        ask = replace(parse_ask(request.query_params, time.time_ns()), after=None)
        try:
            text = source(ask, parse_search(ask.search))
        except KqlError as error:
            raise readable(error, ask.search) from None
        kql = text.removeprefix(logs_of(ask.dataset).partition("\n")[0]).strip().removeprefix("| ")
        return self._form(viewer, SavedSearch(ask.dataset, kql))

    async def _of_query(self, request: Request, viewer: Viewer) -> Response:
        _check(viewer)
        ask = parse_query_ask(request.query_params)
        if ask.language != "kql":
            raise QueryRefusal("a view is of a query in KQL: choose KQL")
        return self._form(viewer, _parsed(ask.text))

    async def _create(self, request: Request, viewer: Viewer) -> Response:
        _check(viewer)
        fields = request.state.form
        names = ("dataset", "kql", "name", "description")
        search = SavedSearch(*(fields.get(name, "").strip() for name in names))
        try:
            _check_lengths(search)
            await self._queries.read_catalog(viewer.caller, partial(save, search))
        except QueryRefusal as refusal:
            return self._form(viewer, search, refusal)
        query = f"{quoted_name(search.name)} | take 100"
        address = QueryAsk(text=query, dataset=search.dataset).address("query")
        # Relative to /ui/, which a proxy may serve below a path.
        return RedirectResponse(address, 303)

    def _form(
        self, viewer: Viewer, search: SavedSearch, refusal: QueryRefusal | None = None
    ) -> Response:
        return self._templates.page(
            "save.html",
            refusal.status if refusal else 200,
            viewer=viewer,
            active="Logs",
            active_dataset=search.dataset,
            search=search,
            refusal=refusal,
        )


def save(search: SavedSearch, client: MetaClient) -> None:
    """Create a projection, a view and their link to the dataset. Raises QueryRefusal.

    The three are not one transaction: what was created is deleted if a later one is refused.
    """
    catalog = client.catalog
    try:
        dataset = catalog.GetDataset(pb.GetDatasetRequest(name=search.dataset)).id
        # Meta answers an equal creation with what is there, which is not ours to delete.
        _check_name(search.name, client)
        request = pb.CreateProjectionRequest(name=search.name, projection=search.kql)
        projection = catalog.CreateProjection(request).id
        try:
            view = _create_view(search, client)
            try:
                catalog.LinkViewDatasetProjection(
                    pb.LinkViewDatasetProjectionRequest(
                        dataset_id=dataset, view_id=view, projection_id=projection
                    )
                )
            except MetaError:
                with suppress(MetaError):
                    catalog.DeleteView(pb.DeleteViewRequest(id=view))
                raise
        except MetaError:
            with suppress(MetaError):
                catalog.DeleteProjection(pb.DeleteProjectionRequest(id=projection))
            raise
    except MetaError as error:
        raise refusal_of(error) from error


def _check_name(name: str, client: MetaClient) -> None:
    """Raise CatalogConflict if there is a view or a projection of a name."""
    for kind, read in (
        ("view", lambda: client.catalog.GetView(pb.GetViewRequest(name=name))),
        ("projection", lambda: client.catalog.GetProjection(pb.GetProjectionRequest(name=name))),
    ):
        with suppress(NotFound):
            read()
            raise CatalogConflict(f"there is a {kind} {name[:80]!r}: choose another name")


def _create_view(search: SavedSearch, client: MetaClient) -> str:
    request = pb.CreateViewRequest(name=search.name)
    if search.description:
        request.description = search.description
    return client.catalog.CreateView(request).id


def _parsed(text: str) -> SavedSearch:
    """Return a query as a dataset and operators on its records. Raises QueryRefusal."""
    try:
        query = parse_query(text)
    except KqlError as error:
        raise QueryRefusal(str(error), error.excerpt(text)) from None
    table, operators, names = query.pipeline.source, query.pipeline.operators, query.names
    if (
        any((names.scalars, names.tables, names.functions))
        or not isinstance(table, Name)
        or not operators
    ):
        raise QueryRefusal(
            "a view is of one dataset and operators on its records, without let: such as"
            " web | where severity == 'ERROR'"
        )
    return SavedSearch(table.name, text[operators[0].offset :].strip())


def _check(viewer: Viewer) -> None:
    if not viewer.may_change:
        raise NotAllowed(
            "this console changes nothing with the gateway's rights: start it with"
            " `segplane dev --console-changes`, or log in with a token that may create views"
        )


def _check_lengths(search: SavedSearch) -> None:
    for name, text, most in (
        ("name", search.name, _NAME_CHARACTERS_MAX),
        ("KQL", search.kql, _KQL_CHARACTERS_MAX),
        ("description", search.description, _DESCRIPTION_CHARACTERS_MAX),
    ):
        if len(text) > most:
            raise QueryRefusal(
                f"the {name} has {len(text):,} characters, at most {most:,} are read"
            )
    if not (search.name and search.kql and search.dataset):
        raise QueryRefusal("a view needs a name, a dataset and KQL")
