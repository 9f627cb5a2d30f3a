"""SegmentDeletionService, and the calls about objects without a row."""

from meta.services.deletion.objects import condemn_objects
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "CondemnObjects": condemn_objects,
}
