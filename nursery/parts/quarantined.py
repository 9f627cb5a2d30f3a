"""Streams whose records are in the quarantine in place of the segments, each with its verdict."""

from collections.abc import Mapping, Sequence

from meta.client import MetaClient
from meta.v1 import nursery_pb2
from nursery.parts.part import StatedPart
from nursery.results import DatasetResult

FIELD = "quarantined"


class QuarantinedStreams(StatedPart):
    """Names the streams, so that their objects in the quarantine count."""

    FIELD = FIELD

    def state(
        self,
        results: Sequence[DatasetResult],
        request: nursery_pb2.RegisterMergedSegmentRequest,
        client: MetaClient,  # noqa: ARG002
    ) -> None:
        """Add the verdicts of all tasks."""
        verdicts: dict[str, str] = {}
        for result in results:
            verdicts |= _verdicts(result)
        for stream_id, verdict in verdicts.items():
            request.quarantined.add(stream_id=stream_id, verdict=verdict)


def _verdicts(result: DatasetResult) -> Mapping[str, str]:
    value = result.stated.get(FIELD, {})
    assert isinstance(value, dict)
    return value
