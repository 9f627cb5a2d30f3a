"""CatalogService: one module per noun, joined here."""

from meta.services.catalog.datasets import DatasetCalls


class CatalogServicer(DatasetCalls):
    """CatalogService; see docs/contract.md."""
