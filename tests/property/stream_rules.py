"""Rules of the state machine about streams: collectors, and the nursery's side of them."""

from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import rule

from meta.client import refused_part
from meta.errors import TokenUnknown
from meta.store.streams import merged_floors
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2, operations_pb2, segment_lookup_pb2
from tests.property.catalog_rules import PICK, TWICE, CatalogRules, chosen
from tests.property.guards import when
from tests.property.model import Move, Segment
from tests.property.model_streams import Facts, ModelBaby, Stream
from tests.property.new_segments import Registration, full_key

STOP_MESSAGE: Facts = (0, 0, 0, b"")


class StreamRules(CatalogRules):
    """Collectors register and commit; a nursery merges, reaps and retires."""

    @rule(collector=st.sampled_from(("c1", "c2")), pick=PICK, twice=TWICE)
    @when(lambda self: self.model.tokens)
    def register_collector(self, collector: str, pick: int, twice: bool) -> None:
        token = chosen(list(self.model.tokens.values()), pick)
        request = ingestion_pb2.RegisterForStreamRequest(
            collector_id=collector, ingest_token=token.plaintext
        )
        known = self.model.active_stream(collector)

        reply = self.send(
            lambda c: c.ingestion.RegisterForStream(request),
            TokenUnknown if token.is_revoked else None,
            twice=twice,
            essence=lambda r: (r.stream_id, r.next_offset, r.token_id),
        )

        if reply is not None:
            stream = known or Stream(reply.stream_id, collector)
            self.model.streams[stream.id] = stream
            assert (reply.stream_id, reply.created) == (stream.id, known is None)
            assert reply.next_offset == stream.committed + 1
            stream.tokens.add(token.id)
            stream.add_entries(token.datasets, stream.committed)

    @rule(
        pick=PICK,
        kind=st.sampled_from(("next", "next", "next", "again", "other", "gap")),
        stamps=st.sampled_from(("none", "routed", "any")),
        records=st.sampled_from((0, 10)),
        is_flushed=st.booleans(),
        is_abandoned=st.booleans(),
    )
    @when(lambda self: self.model.streams)
    def commit(
        self,
        pick: int,
        kind: str,
        stamps: str,
        records: int,
        is_flushed: bool,
        is_abandoned: bool,
    ) -> None:
        stream = chosen(list(self.model.streams.values()), pick)
        offset = {"next": 1, "gap": 2}.get(kind, 0) + stream.committed
        facts: Facts = (1_000, 100, records, uuid4().bytes if is_flushed else b"")
        if kind == "again" and stream.babies:
            facts = stream.babies[-1].facts
        stamped = self._stamps(stream, stamps, pick)
        request = ingestion_pb2.CommitOffsetRequest(
            stream_id=stream.id,
            committed_offset=max(0, offset),
            start_time=facts[0],
            end_time=2 * facts[0],
            size_bytes=facts[1] + (kind == "other"),
            num_records=facts[2],
            flush_id=facts[3],
            dataset_ids=stamped,
        )
        facts = (facts[0], request.size_bytes, *facts[2:])
        refusal = stream.refuses_commit(request.committed_offset, facts)
        if is_abandoned:
            self.meta.abandon(lambda c: c.ingestion.CommitOffset.future(request))

        reply = self.send(lambda c: c.ingestion.CommitOffset(request), refusal, twice=True)

        if reply is not None:
            if request.committed_offset > stream.committed:
                self._committed(stream, facts, stamped)
            assert reply.committed_offset == stream.committed
            gone = [d for d in stamped if not self.model.datasets[d].is_live]
            assert list(reply.deleted_dataset_ids) == gone

    def _stamps(self, stream: Stream, kind: str, pick: int) -> tuple[str, ...]:
        if kind == "none" or not self.model.datasets:
            return ()
        routed = self.model.routed(stream)
        if kind == "any":
            # Of foreign datasets, which get no entry, tests/meta/test_foreign_stamps.py tells.
            own = [
                d
                for d, dataset in self.model.datasets.items()
                if d in routed or d in stream.entries or not dataset.is_live
            ]
            return (chosen(own, pick),) if own else ()
        return tuple(sorted(routed))

    def _committed(self, stream: Stream, facts: Facts, stamped: tuple[str, ...]) -> None:
        live = frozenset(d for d in stamped if self.model.datasets[d].is_live)
        stream.add_entries(live, stream.committed)
        routing = {t: self.model.tokens[t].datasets for t in stream.tokens}
        stream.babies.append(ModelBaby(facts, stamped, routing))

    @rule(pick=PICK, ahead=st.sampled_from((-1, 0, 0, 1)), twice=TWICE)
    @when(lambda self: self.model.streams)
    def stop(self, pick: int, ahead: int, twice: bool) -> None:
        stream = chosen(list(self.model.streams.values()), pick)
        final = max(-1, stream.committed + ahead)
        request = nursery_pb2.MarkStreamStoppedRequest(
            stream_id=stream.id, final_offset=final, reason=nursery_pb2.STOP_REASON_TIMEOUT
        )
        refusal = stream.refuses_stop(final)

        self.send(lambda c: c.nursery.MarkStreamStopped(request), refusal, twice=twice)

        if refusal is None and stream.stopped is None:
            if final > stream.committed:
                stream.babies.append(ModelBaby(STOP_MESSAGE, (), {}))
            stream.stopped = final

    @rule(pick=PICK, beyond=st.sampled_from((0, 0, 0, 1, -1)), twice=TWICE)
    @when(lambda self: self.model.streams)
    def reap(self, pick: int, beyond: int, twice: bool) -> None:
        stream = chosen(list(self.model.streams.values()), pick)
        offset = max(-1, stream.merged + beyond)
        request = nursery_pb2.UpdateDeletedOffsetRequest(
            stream_id=stream.id, deleted_offset=offset, deleted_ingest_time_nanos=5
        )
        refusal = stream.refuses_reap(offset)

        self.send(lambda c: c.nursery.UpdateDeletedOffset(request), refusal, twice=twice)

        if refusal is None:
            stream.deleted = max(stream.deleted, offset)

    @rule(pick=PICK, other=PICK, is_reaped=st.booleans(), twice=TWICE)
    @when(lambda self: any(s.entries for s in self.model.streams.values()))
    def remove_entry(self, pick: int, other: int, is_reaped: bool, twice: bool) -> None:
        stream = chosen([s for s in self.model.streams.values() if s.entries], pick)
        dataset_id = chosen(list(stream.entries), other)
        merged = stream.deleted if is_reaped else stream.merged_of(dataset_id)
        request = nursery_pb2.DeleteIngestStreamDatasetRequest(
            stream_id=stream.id,
            dataset_id=dataset_id,
            current_offset=merged,
            merged_offset=merged,
        )
        refusal = stream.refuses_removal(dataset_id, merged, self.model.routed(stream))

        self.send(lambda c: c.nursery.DeleteIngestStreamDataset(request), refusal, twice=twice)

        if refusal is None:
            del stream.entries[dataset_id]

    @rule()
    @when(lambda self: self.model.streams)
    def sweep(self) -> None:
        """Floors rise in the background, and nobody sees anything of it."""
        ids = [UUID(stream_id) for stream_id in self.model.streams]
        self.meta.transactions.write(lambda tx: merged_floors.raise_floors(tx, ids))

    @rule(
        pick=PICK,
        other=PICK,
        count=st.integers(1, 3),
        shift=st.sampled_from((0, 0, 0, 0, 1, -1, -2)),
        parts=st.sampled_from((0, 1, 1, 2)),
        is_abandoned=st.booleans(),
    )
    @when(lambda self: any(s.entries for s in self.model.streams.values()))
    def merge(
        self, pick: int, other: int, count: int, shift: int, parts: int, is_abandoned: bool
    ) -> None:
        """Register babies of one entry: as offsets only, one segment, or two."""
        stream = chosen([s for s in self.model.streams.values() if s.entries], pick)
        asked = Registration.of(stream, chosen(list(stream.entries), other), shift, count, parts)
        request = asked.request()
        if is_abandoned:
            self.meta.abandon(lambda c: c.nursery.RegisterMergedSegment.future(request))

        reply = self.send(
            lambda c: c.nursery.RegisterMergedSegment(request),
            asked.refusal(),
            twice=True,
            essence=lambda r: r.segment_version,
        )

        if reply is not None:
            self._registered(asked, reply.segment_version)

    @rule(
        pick=PICK,
        each=st.lists(
            st.tuples(
                st.integers(1, 3), st.sampled_from((0, 0, 1, -1)), st.sampled_from((0, 1, 2))
            ),
            min_size=1,
            max_size=4,
        ),
        is_abandoned=st.booleans(),
    )
    @when(lambda self: any(s.entries for s in self.model.streams.values()))
    def merge_in_bulk(
        self, pick: int, each: list[tuple[int, int, int]], is_abandoned: bool
    ) -> None:
        """Register babies of several entries in one call; each is answered as if alone."""
        entries = [(s, d) for s in self.model.streams.values() for d in s.entries]
        first = pick % len(entries)
        asked = [
            Registration.of(stream, dataset_id, shift, count, parts)
            for (stream, dataset_id), (count, shift, parts) in zip(
                entries[first:] + entries[:first], each, strict=False
            )
        ]
        request = operations_pb2.RegisterMergedSegmentsRequest(
            registrations=[one.request() for one in asked]
        )
        refusals = [one.refusal() for one in asked]
        if is_abandoned:
            self.meta.abandon(lambda c: c.operations.RegisterMergedSegments.future(request))

        reply = self.send(
            lambda c: c.operations.RegisterMergedSegments(request),
            None,
            twice=True,
            essence=lambda r: [one.segment_version for one in r.results],
        )

        assert reply is not None
        for one, refusal, result in zip(asked, refusals, reply.results, strict=True):
            if refusal is None:
                assert not result.HasField("refusal"), result
                self._registered(one, result.segment_version)
            else:
                assert isinstance(refused_part(result.refusal), refusal)

    def _registered(self, asked: Registration, version: int) -> None:
        stream, dataset_id, seen, end = asked.stream, asked.dataset_id, asked.seen, asked.end
        stream.entries[dataset_id].stored = end
        span = Move(stream.id, dataset_id, seen, end, version, bool(asked.segments))
        self.model.moves.append(span)
        if asked.verdict:
            offsets = range(seen + 1, end + 1)
            self.model.counted |= {(stream.id, dataset_id, asked.verdict, o) for o in offsets}
        held = frozenset((stream.id, n) for n in range(seen + 1, end + 1))
        self.note_segments(dataset_id, list(asked.segments), held, version)

    def note_segments(
        self,
        dataset_id: str,
        new: list[common_pb2.CreateSegment],
        contents: frozenset[tuple[str, int]],
        version: int,
    ) -> None:
        """I18: what a call registered is there at once, on any instance."""
        name = self.model.datasets[dataset_id].name
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name], min_version=version)
        reply = self.meta.call(lambda c: c.segment_lookup.FindSegments(request))
        found = {full_key(info): info for info in reply.segments}
        for segment in new:
            info = found[full_key(segment)]
            assert info.created_version == version
            key, events = full_key(segment), segment.number_of_events
            self.model.segments[key] = Segment(
                info.id, key, dataset_id, events, contents, created_version=version
            )
