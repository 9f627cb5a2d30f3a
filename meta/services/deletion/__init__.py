"""SegmentDeletionService, and the calls about objects without a row."""

from meta.services.deletion.objects import condemn_objects, forget_streams
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "CondemnObjects": condemn_objects,
    "ForgetStreams": forget_streams,
}
