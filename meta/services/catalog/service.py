"""CatalogService: one module per noun, joined here."""

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.catalog.datasets import DatasetCalls
from meta.services.catalog.links import LinkCalls
from meta.services.catalog.projections import ProjectionCalls
from meta.services.catalog.schemas import SchemaCalls
from meta.services.catalog.views import ViewCalls


class CatalogServicer(DatasetCalls, LinkCalls):
    """CatalogService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        super().__init__(transactions, settings)
        for kind in (SchemaCalls, ViewCalls, ProjectionCalls):
            calls = kind(transactions)
            noun = kind.entries.noun.title()
            for function in (calls.create, calls.get, calls.update, calls.delete):
                setattr(self, f"{function.__name__.title()}{noun}", function)
            setattr(self, f"List{noun}s", calls.list_page)
