"""Deletion and settings of datasets, a call a line."""

from meta.client import MetaClient
from meta.v1 import catalog_pb2, operations_pb2


def delete(client: MetaClient, dataset: str) -> bool:
    request = catalog_pb2.DeleteDatasetRequest(id=dataset)
    return client.catalog.DeleteDataset(request).success


def undelete(client: MetaClient, dataset: str) -> operations_pb2.UndeleteDatasetResponse:
    request = operations_pb2.UndeleteDatasetRequest(dataset_id=dataset)
    return client.operations.UndeleteDataset(request)


def set_settings(
    client: MetaClient, dataset: str, settings: operations_pb2.DatasetSettings
) -> operations_pb2.DatasetSettings:
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
    return client.operations.SetDatasetSettings(request).settings


def get_settings(client: MetaClient, dataset: str) -> operations_pb2.DatasetSettings:
    request = operations_pb2.GetDatasetSettingsRequest(dataset_id=dataset)
    return client.operations.GetDatasetSettings(request).settings


def rename(client: MetaClient, dataset: str, name: str) -> str:
    request = operations_pb2.RenameDatasetRequest(dataset_id=dataset, new_name=name)
    return client.operations.RenameDataset(request).name
