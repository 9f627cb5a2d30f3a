"""Live numbers of datasets."""

from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.lookup import dataset_numbers
from meta.v1 import resources_pb2 as pb

DATASETS_MAX = 100


def get_dataset_numbers(
    server: ServerParts, request: pb.GetDatasetNumbersRequest
) -> pb.GetDatasetNumbersResponse:
    """Count the records and segments that a version shows, with their first and last time."""
    identifier = checks.identifier(request)
    version = checks.optional_count(request, "version")
    numbers = server.transactions.read(lambda tx: dataset_numbers.read(tx, identifier, version))
    return filled(pb.GetDatasetNumbersResponse, numbers)


def list_dataset_numbers(
    server: ServerParts, request: pb.ListDatasetNumbersRequest
) -> pb.ListDatasetNumbersResponse:
    """Count the records and segments of several datasets."""
    ids = checks.distinct(checks.each(request.ids, "ids", DATASETS_MAX, checks.uuid), "ids")
    numbers = server.transactions.read(lambda tx: dataset_numbers.read_several(tx, ids))
    return pb.ListDatasetNumbersResponse(
        datasets=[
            pb.ListedDatasetNumbers(
                id=str(dataset_id), numbers=filled(pb.GetDatasetNumbersResponse, each)
            )
            for dataset_id, each in numbers.items()
        ]
    )
