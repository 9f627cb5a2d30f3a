"""The parts of a registration that tasks gather something for."""

from nursery.parts.deduplication import DeduplicationPart
from nursery.parts.part import StatedPart
from nursery.parts.quarantined import QuarantinedStreams

PARTS: tuple[StatedPart, ...] = (QuarantinedStreams(), DeduplicationPart())
