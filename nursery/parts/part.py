"""A part of a registration as the nursery sees it."""

from collections.abc import Sequence
from typing import ClassVar

from meta.client import MetaClient
from meta.v1 import nursery_pb2
from nursery.results import DatasetResult


class StatedPart:
    """Opens its value in the results of a move's tasks.

    `FIELD` is the name of the value in `DatasetResult.stated`, and of the field of the request.
    """

    FIELD: ClassVar[str]

    def state(
        self,
        results: Sequence[DatasetResult],
        request: nursery_pb2.RegisterMergedSegmentRequest,
        client: MetaClient,
    ) -> None:
        """Set the field of the request of a move; raises MetaError."""
        raise NotImplementedError

    def beyond_limits(self, results: Sequence[DatasetResult]) -> str:  # noqa: ARG002
        """Name what is beyond the limits of a registration; "" = nothing is."""
        return ""

    def timeout_secs(self, request: nursery_pb2.RegisterMergedSegmentRequest) -> float:  # noqa: ARG002
        """The time that meta needs for the field; 0 = no more than without it."""
        return 0.0

    def count(self, results: Sequence[DatasetResult], dataset_id: str, version: int) -> None:
        """Count and log a registration."""
