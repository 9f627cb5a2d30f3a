"""Rules of the state machine about the quarantine: payloads that are replayed or dropped."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.errors import InvalidArgument, NotDrained, NotFound, NothingToRepair
from meta.v1 import operations_pb2
from segments.keys import quarantine_key, quarantine_part_key
from tests.property.catalog_rules import PICK, TWICE, chosen
from tests.property.guards import when
from tests.property.model import ModelDataset, ModelReplay
from tests.property.model_streams import Refusal, Stream
from tests.property.new_segments import VERDICTS, new_segment, verdict_of
from tests.property.task_rules import TaskRules

ACCEPTANCE = operations_pb2.LossAcceptance(accept_loss=True, actor="operator", reason="damage")


class QuarantineRules(TaskRules):
    """An operator replays payloads, and schema violations, or gives them up."""

    @rule(
        pick=PICK,
        other=PICK,
        number=st.sampled_from(VERDICTS),
        is_uncounted=st.booleans(),
        end=st.sampled_from(("complete", "complete", "drop", "drop at once", "neither")),
        twice=TWICE,
    )
    @when(lambda self: self.model.streams and self.model.datasets)
    def replay(
        self, pick: int, other: int, number: int, is_uncounted: bool, end: str, twice: bool
    ) -> None:
        """I2: a payload is registered once, or is in the ledger, or is not a payload; never two."""
        stream = chosen(list(self.model.streams.values()), pick)
        offset = max(0, stream.floor - other % 2 + (other % 5 == 0))
        dataset = chosen(list(self.model.datasets.values()), other)
        key = quarantine_key(stream.id, offset, min(stream.tokens), "logs", other % 3)
        verdict = verdict_of(dataset.id, number)
        if verdict:
            key = quarantine_part_key(key, 0, verdict)
        if end == "drop at once":
            self._drop(key, self._refuses_drop(stream, offset, verdict, key))
            return
        begin = operations_pb2.BeginReplayRequest(
            object_key=key, dataset_id=dataset.id, acceptance=ACCEPTANCE, uncounted=is_uncounted
        )

        reply = self.send(
            lambda c: c.operations.BeginReplay(begin),
            self._refuses_replay(stream, offset, dataset, key, verdict, is_uncounted),
            twice=twice,
            essence=lambda r: r.replay.version,
        )

        if reply is None:
            return
        if verdict:
            self.model.counted.add((stream.id, dataset.id, verdict, offset))
        begun = self.model.replays.setdefault(key, ModelReplay(dataset.id))
        assert (reply.replay.state == operations_pb2.REPLAY_STATE_REPLAYED) == (
            begun.state == "replayed"
        )
        if end == "complete":
            self._complete(key, begun)
        elif end == "drop":
            self._drop(key, NothingToRepair if begun.state == "replayed" else None)

    def _refuses_replay(
        self,
        stream: Stream,
        offset: int,
        dataset: ModelDataset,
        key: str,
        verdict: str,
        is_uncounted: bool,
    ) -> Refusal:
        known = self.model.replays.get(key)
        if not dataset.is_live:
            return NotFound
        if not stream.is_retired and offset > stream.floor:
            return NotDrained
        if known is not None:
            if known.state == "dropped":
                return NothingToRepair
            return InvalidArgument if known.dataset_id != dataset.id else None
        if self._is_counted(stream, offset, verdict):
            return None
        is_held = self.model.is_held_offset(stream.id, dataset.id, offset)
        return None if is_uncounted and not is_held else NothingToRepair

    def _refuses_drop(self, stream: Stream, offset: int, verdict: str, key: str) -> Refusal:
        known = self.model.replays.get(key)
        if not stream.is_retired and offset > stream.floor:
            return NotDrained
        if known is not None and known.state != "begun":
            return NothingToRepair if known.state == "replayed" else None
        return None if self._is_counted(stream, offset, verdict) else NothingToRepair

    def _is_counted(self, stream: Stream, offset: int, verdict: str) -> bool:
        counted = {(s, v, o) for s, _, v, o in self.model.counted}
        return not verdict or (stream.id, verdict, offset) in counted

    def _complete(self, key: str, begun: ModelReplay) -> None:
        new = new_segment(begun.dataset_id)
        request = operations_pb2.CompleteReplayRequest(object_key=key, segments=[new])
        reply = self.send(
            lambda c: c.operations.CompleteReplay(request),
            None,
            twice=True,
            essence=lambda r: (r.replay.version, list(r.replay.segment_ids)),
        )
        assert reply is not None
        if begun.state == "begun":
            begun.state = "replayed"
            held = frozenset({(key, 0)})
            self.note_segments(begun.dataset_id, [new], held, reply.replay.version)

    def _drop(self, key: str, refusal: Refusal) -> None:
        request = operations_pb2.DropPayloadRequest(object_key=key, acceptance=ACCEPTANCE)
        reply = self.send(
            lambda c: c.operations.DropPayload(request),
            refusal,
            twice=True,
            essence=lambda r: r.version,
        )
        if reply is not None:
            self.model.replays.setdefault(key, ModelReplay("")).state = "dropped"

    def check_quarantined(self) -> None:
        """I2: a payload counts by the registration that left its records out, and by no other."""
        verdicts = {
            (stream.id, verdict_of(dataset_id, number), min(stream.tokens), offset)
            for stream in self.model.streams.values()
            for dataset_id in self.model.datasets
            for number in VERDICTS
            for offset in range(min(3, stream.committed + 1))
            if verdict_of(dataset_id, number)
        }
        counted = {(s, v, o) for s, _, v, o in self.model.counted}
        keys = {
            quarantine_part_key(quarantine_key(s, o, token, "logs", 0), 0, v): (s, v, o) in counted
            for s, v, token, o in verdicts
        }
        some = sorted(keys)[:1_000]
        request = operations_pb2.CheckQuarantinedRequest(object_keys=some)
        reply = self.meta.call(lambda c: c.operations.CheckQuarantined(request))
        assert set(reply.uncounted) == {key for key in some if not keys[key]}
