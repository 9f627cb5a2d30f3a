"""Rules of the state machine about segments: saving, condemning, deleting."""

from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.errors import NotFound, ObjectCondemned
from meta.v1 import common_pb2, ingestion_pb2, operations_pb2, segment_deletion_pb2
from tests.property.catalog_rules import PICK, TWICE, chosen
from tests.property.guards import when
from tests.property.model import Segment
from tests.property.model_streams import Refusal
from tests.property.new_segments import full_key, new_segment
from tests.property.stream_rules import StreamRules


class SegmentRules(StreamRules):
    """Writers save, the janitor deletes."""

    @rule(pick=PICK, count=st.integers(1, 3), is_garbage=st.booleans(), is_abandoned=st.booleans())
    @when(lambda self: self.model.datasets)
    def save(self, pick: int, count: int, is_garbage: bool, is_abandoned: bool) -> None:
        dataset = chosen(list(self.model.datasets.values()), pick)
        new = [new_segment(dataset.id) for _ in range(count)]
        refusal: Refusal = None if dataset.is_live else NotFound
        garbage = [k for k in self.model.condemned if k.startswith(f"dataset/{dataset.id}/")]
        if is_garbage and garbage:
            new.append(new_segment(dataset.id, chosen(garbage, pick).rpartition("/")[2]))
            refusal = refusal or ObjectCondemned
        request = ingestion_pb2.SaveSegmentsRequest(segments=new)
        if is_abandoned:
            self.meta.abandon(lambda c: c.ingestion.SaveSegments.future(request))

        reply = self.send(
            lambda c: c.ingestion.SaveSegments(request),
            refusal,
            twice=True,
            essence=lambda r: r.ids,
        )

        if reply is not None:
            for segment_id, segment in zip(reply.ids, new, strict=True):
                self.note(segment_id, segment, frozenset({(segment_id, 0)}))

    @rule(pick=PICK, other=PICK, is_known=st.booleans(), dry_run=st.booleans())
    @when(lambda self: self.model.datasets)
    def condemn(self, pick: int, other: int, is_known: bool, dry_run: bool) -> None:
        """A key that no row knows, or one that somebody registered."""
        dataset_id = chosen(list(self.model.datasets), pick)
        key = f"dataset/{dataset_id}/merged/{uuid4()}.parquet"
        if is_known and self.model.segments:
            key = chosen(list(self.model.segments), other)
        request = operations_pb2.CondemnObjectsRequest(
            object_keys=[key], dry_run=dry_run, written_by_caller=True
        )
        known = self.model.segments.get(key)

        reply = self.send(
            lambda c: c.operations.CondemnObjects(request),
            None,
            twice=True,
            essence=lambda r: r.condemned_keys,
        )

        assert reply is not None
        is_garbage = known is None or known.is_confirmed
        assert list(reply.condemned_keys) == ([key] if is_garbage else [])
        if known is None and not dry_run:
            self.model.condemned.add(key)

    @rule(part=st.sampled_from(("all", "half")), twice=TWICE)
    @when(lambda self: any(not s.is_live for s in self.model.segments.values()))
    def delete_tombstoned(self, part: str, twice: bool) -> None:
        """The janitor lists what may go, deletes some or all of the objects and confirms them."""
        request = segment_deletion_pb2.GetTombstonedSegmentsForDeletionRequest()
        listed = self.meta.call(
            lambda c: c.segment_deletion.GetTombstonedSegmentsForDeletion(request)
        ).segments
        waiting = {
            s.id: s
            for s in self.model.segments.values()
            if not s.is_live and not (s.is_confirmed or s.is_hidden or self.model.is_held(s))
        }
        assert {one.segment_id for one in listed} == waiting.keys()
        for segment in waiting.values():
            dataset = self.model.datasets[segment.dataset_id]
            dataset.horizon = max(dataset.horizon, segment.tombstone_version or 0)
        ids = list(waiting)[: len(waiting) if part == "all" else len(waiting) // 2]
        confirm = segment_deletion_pb2.ConfirmTombstoneDeletionRequest(segment_ids=ids)

        self.send(
            lambda c: c.segment_deletion.ConfirmTombstoneDeletion(confirm),
            None,
            twice=twice,
            essence=lambda r: r.WhichOneof("result"),
        )

        for segment_id in ids:
            waiting[segment_id].is_confirmed = True

    @rule(pick=PICK)
    @when(lambda self: self.model.segments)
    def confirm_what_may_not_go(self, pick: int) -> None:
        """A live segment, or one that was not handed out, keeps all that are named with it."""
        segments = self.model.segments.values()
        kept = [
            s
            for s in segments
            if (s.tombstone_version or 2**62) > self._horizon(s) or self.model.is_held(s)
        ]
        if not kept:
            return
        ids = [chosen(kept, pick).id, *(s.id for s in segments if not s.is_live)]
        request = segment_deletion_pb2.ConfirmTombstoneDeletionRequest(segment_ids=ids)

        reply = self.meta.call(lambda c: c.segment_deletion.ConfirmTombstoneDeletion(request))

        assert reply.error.reason in ("SEGMENT_LIVE", "GRACE_NOT_OVER")

    def _horizon(self, segment: Segment) -> int:
        return self.model.datasets[segment.dataset_id].horizon

    def note(
        self,
        segment_id: str,
        segment: common_pb2.CreateSegment,
        contents: frozenset[tuple[str, int]],
        version: int = 0,
    ) -> Segment:
        """Put a segment that meta took into the model; `version` is that of its creation."""
        key, events = full_key(segment), segment.number_of_events
        made = Segment(
            segment_id, key, segment.dataset_id, events, contents, created_version=version
        )
        self.model.segments[key] = made
        return made
