"""Live numbers of a dataset."""

from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.lookup import dataset_numbers
from meta.v1 import resources_pb2 as pb


def get_dataset_numbers(
    server: ServerParts, request: pb.GetDatasetNumbersRequest
) -> pb.GetDatasetNumbersResponse:
    """Count the records and segments that a version shows, with their first and last time."""
    identifier = checks.identifier(request)
    version = checks.optional_count(request, "version")
    numbers = server.transactions.read(lambda tx: dataset_numbers.read(tx, identifier, version))
    return filled(pb.GetDatasetNumbersResponse, numbers)
