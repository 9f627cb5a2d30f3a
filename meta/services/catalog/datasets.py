"""Datasets: create, read, list."""

import grpc

from meta.config import Settings
from meta.rpc import Transactions
from meta.services import checks, pages
from meta.store import datasets
from meta.v1 import catalog_pb2, catalog_pb2_grpc


class DatasetCalls(catalog_pb2_grpc.CatalogServiceServicer):
    """The dataset calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def CreateDataset(
        self, request: catalog_pb2.CreateDatasetRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.CreateDatasetResponse:
        """Create a dataset; the same name again is the same dataset."""
        name = checks.name(request.name)
        live_max = self._settings.datasets_max
        made = self._transactions.write(lambda tx: datasets.create(tx, name, live_max=live_max))
        return catalog_pb2.CreateDatasetResponse(id=str(made.id), name=made.name)

    def GetDataset(
        self, request: catalog_pb2.GetDatasetRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetDatasetResponse:
        """Read a dataset by id or name."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        found = self._transactions.read(lambda tx: datasets.get(tx, named))
        return catalog_pb2.GetDatasetResponse(id=str(found.id), name=found.name)

    def ListDatasets(
        self, request: catalog_pb2.ListDatasetsRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListDatasetsResponse:
        """Page through the live datasets."""
        window = pages.window(request.pagination, "ListDatasets")
        page = self._transactions.read(lambda tx: datasets.list_page(tx, window))
        return catalog_pb2.ListDatasetsResponse(
            items=[catalog_pb2.Dataset(id=str(d.id), name=d.name) for d in page.items],
            pagination=pages.answer(page, "ListDatasets"),
        )
