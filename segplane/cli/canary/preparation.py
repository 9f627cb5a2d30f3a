"""A canary's dataset, with a day of retention, and its ingest token; and the cost of a day."""

from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2

DAY_SECS = 86_400
# Seconds from a record to its merge that the requests are estimated for.
MERGED_WITHIN_SECS = 8
# A segment is read by its size, footer and column.
_SEGMENT_READ = 3
# Put, read and deletion of a baby segment, put and deletion of its segment, and the later look,
# which reads three segments a record.
_REQUESTS = 5 + 3 * _SEGMENT_READ
# A record's readings until it is merged: of its baby segment, and of its segment.
_REQUESTS_WAITING = 1 + _SEGMENT_READ
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
    """Cost of a canary a day, if it shares no flush, and nothing is compacted.

    Requests are an estimate for records that are merged within MERGED_WITHIN_SECS; the others are
    upper bounds.
    """

    exports: int
    requests: int
    segments: int
    written_bytes: int


def cost_of(every_secs: float) -> DailyCost:
    """Return the cost of a day."""
    exports = int(DAY_SECS / every_secs)
    # A reading for one record reads those as well that were sent since and before, and wait.
    waiting = 1 + MERGED_WITHIN_SECS / every_secs
    requests = int(exports * (_REQUESTS + _REQUESTS_WAITING * waiting))
    return DailyCost(exports, requests, exports, exports * _BYTES)
