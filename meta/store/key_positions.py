"""Position of an object key among the babies, which are ordered by stream and offset."""

import re
from uuid import UUID

from segments.keys import BABIES_ROOT

ID_MIN, ID_MAX = UUID(int=0), UUID(int=2**128 - 1)
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def stream_bound(key: str, otherwise: UUID) -> UUID:
    """The stream that a key lies in, where the key is within a stream; else no bound."""
    rest = key.removeprefix(BABIES_ROOT)[:36]
    is_bound = key.startswith(BABIES_ROOT) and _UUID.fullmatch(rest)
    return UUID(rest) if is_bound else otherwise


def baby_position(key: str) -> tuple[UUID, int]:
    """Behind which (stream, offset) babies come after a key; before all of them if it is none."""
    stream_id = stream_bound(key, ID_MIN)
    digits = key.rpartition("/")[2]
    is_baby = stream_id != ID_MIN and re.fullmatch("[0-9]{20}", digits)
    return stream_id, min(int(digits), 2**63 - 1) if is_baby else -1
