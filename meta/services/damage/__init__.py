"""Calls about damage: losses, parked streams, repaired segments, the quarantine."""

from meta.services.damage.damage import (
    hide_segment,
    list_losses,
    list_parked_streams,
    park_stream,
    replace_segment,
    skip_offset,
    take_back_replacement,
)
from meta.services.damage.quarantine import (
    begin_replay,
    check_quarantined,
    complete_replay,
    drop_payload,
)
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "ParkStream": park_stream,
    "ListParkedStreams": list_parked_streams,
    "SkipOffset": skip_offset,
    "HideSegment": hide_segment,
    "ReplaceSegment": replace_segment,
    "TakeBackReplacement": take_back_replacement,
    "ListLosses": list_losses,
    "BeginReplay": begin_replay,
    "CompleteReplay": complete_replay,
    "DropPayload": drop_payload,
    "CheckQuarantined": check_quarantined,
}
