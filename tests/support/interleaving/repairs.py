"""A nursery's and an operator's calls about damage, made inside this process."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from meta.store.damage import losses, parked_streams, replays, segment_repairs
from meta.store.damage.losses import Acceptance, Loss
from meta.store.damage.parked_streams import Parking
from meta.store.damage.replays import QuarantinedPayload, Replay
from meta.store.damage.segment_repairs import Replacement
from meta.store.segments.segments import NewSegment, SegmentRow
from meta.store.versions.versions import Version
from segments.keys import QuarantineKey, parse_key, quarantine_key
from tests.support.interleaving.in_process_calls import InProcessScene

ACCEPTANCE = Acceptance("operator", "damage")


@dataclass(frozen=True)
class Repairs:
    """Parks and skips, hides and replaces, replays and drops."""

    scene: InProcessScene

    def park(self, stream_id: UUID, offset: int) -> Parking:
        return self.scene.transactions.write(
            lambda tx: parked_streams.park(tx, stream_id, offset, "it is missing")
        )

    def skip(self, stream_id: UUID, offset: int) -> list[Loss]:
        return self.scene.transactions.write(
            lambda tx: parked_streams.skip(tx, stream_id, offset, ACCEPTANCE)
        )

    def hide(self, segment_id: UUID) -> tuple[SegmentRow, Loss]:
        return self.scene.transactions.write(
            lambda tx: segment_repairs.hide(tx, segment_id, ACCEPTANCE)
        )

    def replace(self, segment_id: UUID, new: NewSegment) -> Replacement:
        return self.scene.transactions.write(
            lambda tx: segment_repairs.replace(tx, segment_id, new, (), ACCEPTANCE)
        )

    def begun(self, stream_id: UUID, dataset_id: UUID) -> QuarantinedPayload:
        """A payload of the stream's first baby, whose replay was begun."""
        key = quarantine_key(str(stream_id), 0, str(uuid4()), "logs", 0)
        name = parse_key(key)
        assert isinstance(name, QuarantineKey)
        payload = QuarantinedPayload(key, name)
        self.scene.transactions.write(lambda tx: replays.begin(tx, payload, dataset_id, ACCEPTANCE))
        return payload

    def complete(self, payload: QuarantinedPayload, *new: NewSegment) -> Replay:
        return self.scene.transactions.write(lambda tx: replays.complete(tx, payload, new))

    def drop(self, payload: QuarantinedPayload, dataset_id: UUID) -> Version:
        lost = replays.lost_payload(payload, dataset_id, None)
        return self.scene.transactions.write(lambda tx: replays.drop(tx, payload, lost, ACCEPTANCE))

    def losses(self, stream_id: UUID, offset: int) -> list[Loss]:
        return self.scene.transactions.read(lambda tx: losses.of_baby(tx, stream_id, offset))
