"""The calls about workers, each made once with success."""

from typing import Any

from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops


def live(client: Any) -> None:
    """Set, list and see workers of a dataset."""
    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id
    settings = common_pb2.WorkerSettings(
        concurrent_tasks=2, datasets=common_pb2.WorkerDatasets(ids=[dataset])
    )
    client.operations.SetWorkerSettings(
        ops.SetWorkerSettingsRequest(
            name="merge_worker/*", settings=settings, removed=["buffer_bytes_max"]
        )
    )
    client.operations.ListWorkerSettings(ops.ListWorkerSettingsRequest(worker_id="merge_worker/1"))
    client.operations.ListWorkers(ops.ListWorkersRequest(after_id="a", limit=1))
