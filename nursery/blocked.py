"""Streams that wait at a baby segment which cannot be merged now."""

from collections.abc import Callable, Mapping

import structlog

from nursery.results import UnreadableBaby

log = structlog.get_logger()
# How long a stream waits at an unreadable baby, which another nursery may have reaped.
BLOCKED_SECS = 10.0
# How long it waits at a baby that alone makes a job fail.
POISON_SECS = 300.0


class BlockedStreams:
    """The lowest offset that each blocked stream cannot pass, until its time is over."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._blocked: dict[str, tuple[int, float]] = {}

    def block(self, baby: UnreadableBaby, seconds: float = BLOCKED_SECS) -> None:
        """Let a stream wait at a baby."""
        offset, _ = self._blocked.get(baby.stream_id, (baby.offset, 0.0))
        until = self._monotonic() + seconds
        self._blocked[baby.stream_id] = (min(offset, baby.offset), until)
        log.warning(
            "baby_unreadable", stream_id=baby.stream_id, offset=baby.offset, error=baby.error
        )

    def offsets(self) -> Mapping[str, int]:
        """The offsets that cannot be read now, by stream."""
        now = self._monotonic()
        self._blocked = {s: (o, until) for s, (o, until) in self._blocked.items() if until > now}
        return {stream_id: offset for stream_id, (offset, _) in self._blocked.items()}
