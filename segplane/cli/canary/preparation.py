"""A canary's dataset, with a day of retention, and its ingest token; and the cost of a day."""

from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2

DAY_SECS = 86_400
# Put, read and deletion of a baby segment and of the segment that it becomes, and four reads of the
# canary.
_REQUESTS = 10
# A baby segment and a segment of one record.
_BYTES = 5_000


class DatasetUnfit(Exception):
    """There is a dataset of the name that keeps its records; the message says what to do."""


def prepare(client: MetaClient, dataset: str, token_name: str) -> str:
    """Create the dataset unless it is there, and a token for it; returns the token's secret.

    Raises DatasetUnfit, MetaError.
    """
    try:
        request = catalog_pb2.GetDatasetRequest(name=dataset)
        _check_retention(client, dataset, client.catalog.GetDataset(request).id)
    except NotFound:
        _create(client, dataset)
    created = client.ingest_token.CreateIngestToken(
        ingest_token_pb2.CreateIngestTokenRequest(name=token_name, dataset_name=dataset)
    )
    return created.plaintext_token


def _create(client: MetaClient, dataset: str) -> None:
    request = catalog_pb2.CreateDatasetRequest(name=dataset)
    settings = operations_pb2.DatasetSettings(created_retention=Duration(seconds=DAY_SECS))
    client.operations.SetDatasetSettings(
        operations_pb2.SetDatasetSettingsRequest(
            dataset_id=client.catalog.CreateDataset(request).id, settings=settings
        )
    )


def _check_retention(client: MetaClient, dataset: str, dataset_id: str) -> None:
    request = operations_pb2.GetDatasetSettingsRequest(dataset_id=dataset_id)
    settings = client.operations.GetDatasetSettings(request).settings
    if not 0 < settings.created_retention.seconds <= DAY_SECS:
        raise DatasetUnfit(
            f"there is a dataset {dataset!r} that keeps records for longer than a day: name another"
            f" one, or `segplane datasets retention {dataset} --created-retention 1d`"
        )


@dataclass(frozen=True, slots=True)
class DailyCost:
    """Most that a canary costs a day: it shares no flush, and nothing is compacted."""

    exports: int
    requests: int
    segments: int
    written_bytes: int


def cost_of(every_secs: float) -> DailyCost:
    """Return the cost of a day."""
    exports = int(DAY_SECS / every_secs)
    return DailyCost(exports, exports * _REQUESTS, exports, exports * _BYTES)
