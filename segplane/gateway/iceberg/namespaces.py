"""Namespaces of the catalog: the default group is `default`, each other group has its name."""

import time
from collections.abc import Callable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from meta.client import paged_lists
from meta.errors import Unauthenticated
from meta.v1 import catalog_pb2
from segments.dataset_names import DEFAULT_NAMESPACE, parse
from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import CatalogReader, DatasetScope
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.http.refusals import NotKnown
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg.pages import Page, pages_of
from segplane.read import groups

NAMESPACE = DEFAULT_NAMESPACE
KNOWN_MAX = 1_000
# Separates the parts of a nested namespace in a path.
_NESTED = "\x1f"


class Namespaces:
    """Tells which namespaces there are for a caller; safe for many threads.

    One that is limited to datasets sees their groups alone.
    """

    def __init__(
        self,
        clients: TenantClients,
        refresh_secs: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clients = clients
        self._refresh_secs = refresh_secs
        self._monotonic = monotonic
        # When meta last said of a group of a tenant that it exists.
        self._known: RecentValues[tuple[str, str], float] = RecentValues(KNOWN_MAX)

    def exists(self, namespace: str, reader: CatalogReader) -> bool:
        """Return true if a caller sees a namespace. Raises MetaError."""
        if namespace == NAMESPACE:
            return True
        if reader.scope.dataset_ids is not None:
            return namespace in self._groups_of(reader)
        return self._is_group(namespace, reader.scope)

    def place(self, name: str, scope: DatasetScope) -> tuple[str, str]:
        """Return the namespace of a tenant's dataset, and its name there. Raises MetaError."""
        parts = parse(name)
        # A name with a slash may be of the default group, from a release before 0.3.0.
        if parts.group is None or not self._is_group(parts.group, scope):
            return NAMESPACE, name
        return parts.group, parts.base_name

    def is_of_group(self, name: str, scope: DatasetScope) -> bool:
        """Return whether a whole name is that of a dataset in a group. Raises MetaError."""
        return self.place(name, scope)[0] != NAMESPACE

    def lists(self, request: Request, reader: CatalogReader) -> Response:
        """List namespaces, which are not nested. Raises MetaError."""
        if request.query_params.get("parent"):
            return answer({"namespaces": []})
        return pages_of(
            request,
            lambda token, limit: self._page(reader, token, limit),
            lambda names: {"namespaces": [[name] for name in names]},
        )

    def _page(self, reader: CatalogReader, token: str, limit: int) -> Page:
        if reader.scope.dataset_ids is not None:
            return [NAMESPACE, *self._groups_of(reader)], ""
        names, after = groups.page(self._clients.of(reader.scope), token, limit)
        return [*([] if token else [NAMESPACE]), *names], after

    def _is_group(self, name: str, scope: DatasetScope) -> bool:
        now, key = self._monotonic(), (scope.tenant, name)
        asked_at = self._known.find(key)
        if asked_at is not None and now - asked_at <= self._refresh_secs:
            return True
        is_group = groups.exists(self._clients.of(scope), name)
        # Names that do not exist are not kept, so that guesses displace no name that does.
        if is_group:
            self._known.keep(key, now)
        else:
            self._known.forget(key)
        return is_group

    def _groups_of(self, reader: CatalogReader) -> list[str]:
        """The groups of the datasets that a limited caller sees."""
        names, scope = self._names_of(reader), reader.scope
        return sorted({self.place(name, scope)[0] for name in names} - {NAMESPACE})

    def _names_of(self, reader: CatalogReader) -> Iterator[str]:
        """Yield the names of a limited caller's datasets, in the caller's name."""
        request = catalog_pb2.ListDatasetsRequest()
        try:
            for reply in paged_lists.replies(
                lambda page: self._clients.default.catalog.ListDatasets(
                    page, metadata=reader.metadata
                ),
                request,
            ):
                yield from (item.name for item in reply.items if reader.scope.covers(item.id))
        except Unauthenticated:
            raise NotKnown("the token was revoked") from None


def whole_name(namespace: str, name: str) -> str:
    """The name of a table, a view or a dataset by which meta knows it."""
    return name if namespace == NAMESPACE else f"{namespace}/{name}"


def is_nested(namespace: str) -> bool:
    """Return whether a namespace would be below another, as its parts are separated in a path."""
    return _NESTED in namespace


def outermost(namespace: str) -> str:
    """The first part of a nested namespace."""
    return namespace.partition(_NESTED)[0]
