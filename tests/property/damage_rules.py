"""Rules of the state machine about damage: skipped babies and hidden segments."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.errors import (
    InvalidArgument,
    NotDrained,
    NotFound,
    NothingToRepair,
    OffsetNotCommitted,
)
from meta.v1 import operations_pb2
from tests.property.catalog_rules import PICK, TWICE, chosen
from tests.property.guards import when
from tests.property.model import Absence, Move, Segment
from tests.property.model_streams import Refusal, Stream
from tests.property.new_segments import full_key, new_segment
from tests.property.quarantine_rules import ACCEPTANCE, QuarantineRules


class DamageRules(QuarantineRules):
    """A nursery parks streams; an operator gives up babies and segments, or not."""

    @rule(pick=PICK, ahead=st.sampled_from((1, 1, 2, 0, 9)), twice=TWICE)
    @when(lambda self: self.model.streams)
    def park(self, pick: int, ahead: int, twice: bool) -> None:
        stream = chosen(list(self.model.streams.values()), pick)
        offset = max(0, stream.floor + ahead)
        request = operations_pb2.ParkStreamRequest(
            stream_id=stream.id, offset=offset, reason="it is missing"
        )

        reply = self.send(
            lambda c: c.operations.ParkStream(request),
            OffsetNotCommitted if offset > stream.committed else None,
            twice=twice,
            essence=lambda r: (r.merged, r.skipped),
        )

        if reply is None:
            return
        assert reply.skipped == (offset in stream.skipped)
        is_merged = stream.is_retired or offset <= stream.floor
        assert reply.merged == (is_merged and not reply.skipped)
        if not (is_merged or reply.skipped) and (
            stream.parked is None or stream.parked >= offset or stream.parked <= stream.floor
        ):
            stream.parked = offset

    @rule(pick=PICK, ahead=st.sampled_from((1, 1, 1, 2, 0)), twice=TWICE)
    @when(lambda self: self.model.streams)
    def skip(self, pick: int, ahead: int, twice: bool) -> None:
        """I1: what is skipped is in the ledger, for the datasets that had not merged it."""
        stream = chosen(list(self.model.streams.values()), pick)
        offset = max(0, stream.floor + ahead)
        request = operations_pb2.SkipOffsetRequest(
            stream_id=stream.id, offset=offset, acceptance=ACCEPTANCE
        )
        behind = {d: e for d, e in stream.entries.items() if stream.merged_of(d) < offset}

        reply = self.send(
            lambda c: c.operations.SkipOffset(request),
            self._refuses_skip(stream, offset),
            twice=twice,
            essence=lambda r: (r.version, [loss.id for loss in r.losses]),
        )

        if reply is None or offset in stream.skipped:
            return
        stamps = set(stream.babies[offset].stamps)
        merged = stream.entries.keys() - behind.keys()
        assert {loss.dataset_id for loss in reply.losses} == (stamps - merged or {""})
        stream.skipped.add(offset)
        for dataset_id, entry in behind.items():
            entry.stored = offset
            move = Move(stream.id, dataset_id, offset - 1, offset, reply.version, False)
            self.model.moves.append(move)

    def _refuses_skip(self, stream: Stream, offset: int) -> Refusal:
        if offset in stream.skipped:
            return None
        if offset > stream.committed:
            return OffsetNotCommitted
        if stream.is_retired or offset <= stream.floor or stream.parked != offset:
            return NothingToRepair
        is_drained = all(stream.merged_of(d) >= offset - 1 for d in stream.entries)
        return None if is_drained else NotDrained

    @rule(pick=PICK)
    @when(lambda self: self.model.streams)
    def give_up_a_baby(self, pick: int) -> None:
        """Both in a row, which single steps seldom come to."""
        self.park(pick, 1, False)
        self.skip(pick, 1, True)

    @rule(pick=PICK, twice=TWICE)
    @when(lambda self: self.model.segments)
    def hide(self, pick: int, twice: bool) -> None:
        segment = chosen(list(self.model.segments.values()), pick)
        request = operations_pb2.HideSegmentRequest(segment_id=segment.id, acceptance=ACCEPTANCE)
        refusal: Refusal = NotFound if segment.is_confirmed else None
        if not (segment.is_live or segment.is_hidden):
            refusal = refusal or NothingToRepair

        reply = self.send(
            lambda c: c.operations.HideSegment(request),
            refusal,
            twice=twice,
            essence=lambda r: (r.version, r.loss.id),
        )

        if reply is not None and segment.is_live:
            assert full_key(reply.segment) == segment.key
            self.model.close_task_over(segment)
            segment.tombstone_version, segment.is_hidden = reply.version, True
            self.model.absences.append(Absence(segment, reply.version))
        elif reply is not None:
            assert reply.version == segment.tombstone_version

    @rule(pick=PICK, is_same=st.sampled_from((True, True, True, False)))
    @when(lambda self: self.model.segments)
    def replace(self, pick: int, is_same: bool) -> None:
        """A copy of a live or hidden segment takes its place: its records are there again."""
        segment = chosen(list(self.model.segments.values()), pick)
        new = new_segment(segment.dataset_id, events=segment.events + (not is_same))
        request = operations_pb2.ReplaceSegmentRequest(
            segment_id=segment.id, segment=new, acceptance=ACCEPTANCE
        )

        reply = self.send(
            lambda c: c.operations.ReplaceSegment(request),
            self._refuses_replacement(segment, is_same),
            twice=True,
            essence=lambda r: (r.segment_id, r.version),
        )

        if reply is None:
            return
        self.model.close_task_over(segment)
        self._brought_back(segment, reply.version)
        segment.tombstone_version = segment.tombstone_version or reply.version
        segment.is_hidden = False
        self.note_segments(segment.dataset_id, [new], segment.contents, reply.version)

    def _refuses_replacement(self, segment: Segment, is_same: bool) -> Refusal:
        if segment.is_confirmed or not self.model.datasets[segment.dataset_id].is_live:
            return NotFound
        if not is_same:
            return InvalidArgument
        return None if segment.is_live or segment.is_hidden else NothingToRepair

    def _brought_back(self, segment: Segment, version: int) -> None:
        for absence in self.model.absences:
            if absence.segment is segment and absence.until is None:
                absence.until = version
        if segment.is_live:
            # Its loss was written and withdrawn at one version.
            self.model.absences.append(Absence(segment, version, version))

    def check_ledger(self) -> None:
        """I1: the ledger is what was given up, and no more; withdrawn is what came back."""
        request = operations_pb2.ListLossesRequest()
        request.pagination.limit = 1_000
        losses = self.meta.call(lambda c: c.operations.ListLosses(request)).losses
        of_kind = {
            kind: [loss for loss in losses if loss.kind == kind]
            for kind in operations_pb2.LossKind.values()
        }
        payloads = {loss.object_key for loss in of_kind[operations_pb2.LOSS_KIND_PAYLOAD]}
        babies = {(loss.stream_id, loss.offset) for loss in of_kind[operations_pb2.LOSS_KIND_BABY]}
        segments = sorted(
            (loss.segment_id, loss.version, loss.HasField("withdrawn_version"))
            for loss in of_kind[operations_pb2.LOSS_KIND_SEGMENT]
        )
        assert payloads == {k for k, one in self.model.replays.items() if one.state == "dropped"}
        assert babies == {(s.id, o) for s in self.model.streams.values() for o in s.skipped}
        assert segments == sorted(
            (a.segment.id, a.since, a.until is not None) for a in self.model.absences
        )
