"""CatalogService: one module per noun, joined here."""

from meta.services.catalog.datasets import DatasetCalls
from meta.services.catalog.links import LinkCalls
from meta.services.catalog.projections import ProjectionCalls
from meta.services.catalog.schemas import SchemaCalls
from meta.services.catalog.views import ViewCalls


class CatalogServicer(DatasetCalls, SchemaCalls, ViewCalls, ProjectionCalls, LinkCalls):
    """CatalogService; see docs/contract.md."""
