"""Links between views, datasets and projections, and data sources: views with their links."""

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.catalog import projection_types
from meta.services.messages import checks, pages
from meta.services.messages.filled import filled
from meta.store.access import audit
from meta.store.catalog import link_columns, links, one_tenant
from meta.store.catalog.links import Link, LinkFilter, Source
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2 as pb

_Change = pb.LinkViewDatasetProjectionRequest | pb.UnlinkViewDatasetProjectionRequest


class LinkCalls:
    """The link calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def LinkViewDatasetProjection(
        self, request: pb.LinkViewDatasetProjectionRequest
    ) -> pb.LinkViewDatasetProjectionResponse:
        """Make a view read a dataset through a projection."""
        link = _link(request)
        success = self._transactions.write(lambda tx: _create(tx, link))
        return pb.LinkViewDatasetProjectionResponse(success=success)

    def UnlinkViewDatasetProjection(
        self, request: pb.UnlinkViewDatasetProjectionRequest
    ) -> pb.UnlinkViewDatasetProjectionResponse:
        """Remove a link."""
        link = _link(request)
        success = self._transactions.write(lambda tx: _remove(tx, link))
        return pb.UnlinkViewDatasetProjectionResponse(success=success)

    def ListViewDatasetProjections(
        self, request: pb.ListViewDatasetProjectionsRequest
    ) -> pb.ListViewDatasetProjectionsResponse:
        """Page through the links that match all given filters."""
        link_filter = LinkFilter(
            dataset_id=checks.filter_uuid(request, "dataset_id"),
            view_id=checks.filter_uuid(request, "view_id"),
            projection_id=checks.filter_uuid(request, "projection_id"),
        )
        window = pages.window(request.pagination, "ListViewDatasetProjections", link_filter)
        page = self._transactions.read(lambda tx: links.list_page(tx, window, link_filter))
        return pb.ListViewDatasetProjectionsResponse(
            items=[filled(pb.ViewDatasetProjection, listed) for listed in page.items],
            pagination=pages.answer(page, "ListViewDatasetProjections", link_filter),
        )

    def ListDatasources(self, request: pb.ListDatasourcesRequest) -> pb.ListDatasourcesResponse:
        """Page through all views with the datasets and projections that they read."""
        window = pages.window(request, "ListDatasources")
        page = self._transactions.read(lambda tx: links.list_sources(tx, window))
        pagination = pages.answer(page, "ListDatasources").ListFields()
        return pb.ListDatasourcesResponse(
            items=[_source(source) for source in page.items],
            **{field.name: value for field, value in pagination},
        )


def _create(tx: Transaction, link: Link) -> bool:
    """Make a link unless there is one, with the columns that it reads and yields."""
    ends = links.lock_ends(tx, link)
    one_tenant.require(tx, (link.dataset_id, link.view_id, link.projection_id))
    if links.exists(tx, link):
        return False
    typed = projection_types.typed_link(tx, ends.text, link.dataset_id, ends.schema_ids)
    link_id = links.create(tx, link)
    if link_id is None:
        return False
    link_columns.replace(tx, link_id, typed)
    _note(tx, "LinkViewDatasetProjection", link)
    return True


def _remove(tx: Transaction, link: Link) -> bool:
    removed = links.remove(tx, link)
    if removed:
        _note(tx, "UnlinkViewDatasetProjection", link)
    return removed


def _note(tx: Transaction, rpc: str, link: Link) -> None:
    audit.note(tx, rpc, link.view_id, f"dataset {link.dataset_id}, projection {link.projection_id}")


def _link(request: _Change) -> Link:
    return Link(
        dataset_id=checks.uuid(request.dataset_id, "dataset_id"),
        view_id=checks.uuid(request.view_id, "view_id"),
        projection_id=checks.uuid(request.projection_id, "projection_id"),
    )


def _source(source: Source) -> pb.DatasourceSummary:
    details = pb.ViewSummary(
        projections=[
            pb.ViewProjection(dataset_name=name, expression=expression)
            for name, expression in source.pairs
        ]
    )
    return pb.DatasourceSummary(id=str(source.id), name=source.name, view_details=details)
