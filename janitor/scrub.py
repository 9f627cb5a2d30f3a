"""The scrub: reads every stored object again and again at a set rate and reports damage to meta.

Its position is in meta, with a lease of the janitor that scrubs: of several one reads the objects,
and another continues from its end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile

import structlog

from dataplane.costs.process import charge
from dataplane.object_checks import CheckedObject, check_each, list_stored, report
from meta import metrics
from meta.client import MetaClient
from meta.costs.accumulator import Work
from meta.process.shutdown import Shutdown
from meta.v1 import operations_pb2 as pb
from segments.store.interface import ObjectStore

log = structlog.get_logger()
PAGE_OBJECTS = 200
# A piece of a pass ends after this, so that damage is reported soon.
PIECE_SECS = 30.0
# The lease is renewed so often while one large object is read.
RENEW_SECS = 60.0


@dataclass(slots=True)
class Pace:
    """Keeps reads at a rate by waiting; `wait` ends early on shutdown."""

    bytes_per_sec: float
    wait: Callable[[float], object]
    now: Callable[[], float] = time.monotonic
    size_bytes: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.now()

    def after(self, size_bytes: int) -> None:
        """Wait until this many more bytes were allowed."""
        self.size_bytes += size_bytes
        early_secs = self.size_bytes / self.bytes_per_sec - self.secs
        if early_secs > 0:
            self.wait(early_secs)

    @property
    def secs(self) -> float:
        """Seconds since the start."""
        return self.now() - self.began


def scrub_piece(
    meta: MetaClient,
    store: ObjectStore,
    shutdown: Shutdown,
    pace: Pace,
    *,
    holder: str,
    pass_secs: float,
) -> bool:
    """Check the next objects as `holder`; false if another janitor does, or no pass is due.

    A pass is due `pass_secs` after the last one began. Raises StoreError if the store does not
    answer; earlier checks are kept.
    """
    position = _position(meta, holder, pass_secs)
    if position is None or report(meta, [], position, holder).is_held_by_another:
        return False
    lease = _Lease(meta, position, holder, pace)
    page = list_stored(meta, position.checked_through, limit=PAGE_OBJECTS)
    objects = takewhile(
        lambda _: not (shutdown.is_requested or pace.secs > PIECE_SECS), page.objects
    )
    checked: list[CheckedObject] = []
    try:
        for item in check_each(store, objects, on_bytes=lease.after):
            if not item.is_read:
                key = item.stored.object_key
                log.warning("scrub_unanswered", object_key=key, error=item.damage)
            checked.append(item)
    finally:
        is_whole = len(checked) == len(page.objects)
        _advance(position, checked, page.next_after_key if is_whole else None)
        _report(meta, checked, position, holder)
    return True


@dataclass(slots=True)
class _Lease:
    """Keeps reads at their rate, and renews the lease of the scrub while it does."""

    meta: MetaClient
    position: pb.ScrubPosition
    holder: str
    pace: Pace
    renewed_secs: float = 0.0

    def after(self, size_bytes: int) -> None:
        """Wait until this many more bytes were allowed."""
        self.pace.after(size_bytes)
        if self.pace.secs - self.renewed_secs > RENEW_SECS:
            self.renewed_secs = self.pace.secs
            report(self.meta, [], self.position, self.holder)


def _position(meta: MetaClient, holder: str, pass_secs: float) -> pb.ScrubPosition | None:
    """The position to continue from: in the pass that was begun, else the start, once it is due."""
    state = meta.operations.GetScrubState(pb.GetScrubStateRequest())
    metrics.DAMAGED_OBJECTS.set(state.damaged_objects)
    if state.holder not in ("", holder):
        return None
    now = time.time_ns()
    if not state.HasField("position"):
        return pb.ScrubPosition(began_at_nanos=now)
    if not state.position.is_complete:
        return state.position
    if now - state.position.began_at_nanos < pass_secs * 1e9:
        return None
    return pb.ScrubPosition(began_at_nanos=now)


def _advance(
    position: pb.ScrubPosition, checked: list[CheckedObject], next_after: str | None
) -> None:
    """Move behind the checked objects; `next_after` is known if they are the whole page."""
    position.objects += len(checked)
    position.size_bytes += sum(item.size_bytes for item in checked)
    if checked:
        position.checked_through = checked[-1].stored.object_key
    if next_after is not None:
        position.checked_through = next_after
        position.is_complete = not next_after


def _report(
    meta: MetaClient, checked: list[CheckedObject], position: pb.ScrubPosition, holder: str
) -> None:
    reply = report(meta, checked, position, holder)
    metrics.DAMAGED_OBJECTS.set(reply.damaged_objects)
    metrics.SCRUBBED_BYTES.inc(sum(item.size_bytes for item in checked))
    for item in checked:
        charge(Work.UPKEEP, item.stored.dataset_id, item.size_bytes)
    # An object that was deleted since, because nothing needs it, is not damaged.
    damaged_keys = set(reply.damaged_keys)
    for item in checked:
        if item.is_read and item.damage and item.stored.object_key in damaged_keys:
            log.error(
                "object_damaged",
                object_key=item.stored.object_key,
                segment_id=item.stored.segment_id,
                damage=item.damage,
            )
    if position.is_complete:
        log.info("scrub_completed", objects=position.objects, size_bytes=position.size_bytes)
