"""Segments as bytes: replies hold of each the message that its row makes."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.services.lookup.segment_bytes import ids_start
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.services.messages import convert
from meta.store.segments import segments
from meta.store.segments.segments import SegmentRow
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    ForeignFile,
    SegmentFacts,
    SegmentInfo,
    SignalFacts,
    TimeRange,
)
from meta.v1.segment_lookup_pb2 import GetSegmentsByIdsRequest, GetSegmentsByIdsResponse
from segments.location import StoreLocation, Stores
from segments.protowire import length_prefix
from tests.support.examples import examples
from tests.support.meta import kept_messages
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="flipped bytes")
SIGNAL = SignalFacts(
    signal=SIGNAL_LOGS,
    number_of_events=10,
    time_range=TimeRange(start_time=EPOCH, end_time=EPOCH),
)
# No facts, those of format 1, and those of format 2 without and with promoted columns.
ALL_FACTS = (
    None,
    SegmentFacts(format_version=1, signals=[SIGNAL]),
    SegmentFacts(format_version=2, signals=[SIGNAL]),
    SegmentFacts(format_version=2, signals=[SIGNAL], promoted_field_ids=[1_000, 1_002]),
    SegmentFacts(format_version=200, promoted_field_ids=range(1_000, 1_100)),
)
INT64 = st.integers(-(2**63), 2**63 - 1)
COUNTS = st.integers(0, 2**63 - 1)
FACTS = st.builds(
    SegmentFacts,
    format_version=st.integers(1, 2**15 - 1),
    signals=st.lists(st.just(SIGNAL), max_size=14),
    promoted_field_ids=st.lists(st.integers(1, 2**31 - 1), max_size=100),
).map(SegmentFacts.SerializeToString)
FOREIGN = st.builds(
    ForeignFile, state=st.integers(1, 3), reason=st.text(max_size=200), time_column=st.text()
).map(ForeignFile.SerializeToString)
DATASET = text("INSERT INTO datasets (id, name) SELECT :id, cast(:id AS text) RETURNING key")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)


def row_of(
    times: tuple[int, int], versions: tuple[int, int], *, is_live: bool, **fields: Any
) -> SegmentRow:
    start_ns, end_ns = sorted(times)
    created_version, tombstone_version = sorted(versions)
    return SegmentRow(
        start_ns=start_ns,
        end_ns=end_ns,
        created_version=created_version,
        tombstone_version=None if is_live else tombstone_version,
        **fields,
    )


ROWS = st.builds(
    row_of,
    times=st.tuples(INT64, INT64),
    versions=st.lists(st.integers(1, 2**63 - 1), min_size=2, max_size=2, unique=True).map(tuple),
    is_live=st.booleans(),
    id=st.uuids().map(str),
    dataset_id=st.uuids().map(str),
    size_bytes=COUNTS,
    compressed_size_bytes=COUNTS,
    number_of_events=st.integers(0, 2**31 - 1),
    prefix=TEXT,
    object_name=TEXT,
    merge_count=st.integers(0, 2**15 - 1),
    facts=st.none() | st.just(b"") | FACTS,
    crc32c=st.none() | st.integers(0, 2**32 - 1),
    foreign_file=st.none() | FOREIGN,
)
LOCATIONS = st.builds(
    StoreLocation,
    provider=st.sampled_from(["s3", "file"]),
    endpoint=st.text(st.characters(codec="utf-8"), max_size=200),
    bucket=st.text(max_size=60),
    region=st.text(max_size=20),
    path=st.text(max_size=60),
)
INSERT = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, size_bytes,
        compressed_size_bytes, number_of_events, prefix, object_name, created_version,
        tombstone_version, merge_count, facts, crc32c, foreign_file, tombstone_at)
    VALUES (:id, :key, 0, :start_ns, :end_ns, :size_bytes, :compressed_size_bytes,
        :number_of_events, :prefix, :object_name, :created_version, :tombstone_version,
        :merge_count, :facts, :crc32c, :foreign_file,
        CASE WHEN cast(:tombstone_version AS bigint) IS NOT NULL THEN now() END)
""")


@pytest.mark.long
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(location=LOCATIONS, rows=st.lists(ROWS, max_size=5, unique_by=lambda row: row.id))
def test_encoded_segments_are_the_messages_of_any_rows(
    meta_server: MetaServer, location: StoreLocation, rows: list[SegmentRow]
) -> None:
    database, dataset_id = meta_server.running.database, uuid4()
    with database.write() as tx:
        tx.execute(text("DELETE FROM segments"))
        key = tx.execute(DATASET, {"id": dataset_id}).scalar_one()
        for row in rows:
            tx.execute(INSERT, row._asdict() | {"key": key})
    with database.single() as tx:
        kept_messages.fill(tx)
    own = [row._replace(dataset_id=str(dataset_id)) for row in rows]
    settings_there = replace(meta_server.settings, location=location)
    servicer = SegmentLookupServicer(Transactions(database), settings_there)
    asked = GetSegmentsByIdsRequest(segment_ids=[row.id for row in rows])

    reply = servicer.GetSegmentsByIds(asked)

    expected = [convert.segment_info(Stores(location), row) for row in own]
    assert list(GetSegmentsByIdsResponse.FromString(reply).segments) == expected


@given(facts=FACTS, padding=st.integers(0, 300))
def test_ids_of_promoted_columns_are_cut_from_any_facts(facts: bytes, padding: int) -> None:
    whole = SegmentFacts.FromString(facts)
    for signal in whole.signals:
        # A field of a later release, so that a signal may have more than 127 bytes.
        signal.MergeFromString(length_prefix(15, padding) + b"x" * padding)
    facts = whole.SerializeToString(deterministic=True)

    start = ids_start(facts)

    if whole.format_version < 2:
        assert start is None
    else:
        ids = SegmentFacts(promoted_field_ids=whole.promoted_field_ids)
        whole.ClearField("promoted_field_ids")
        assert SegmentFacts.FromString(facts[:start]) == whole
        assert SegmentFacts.FromString(facts[start:]) == ids


class Scene:
    """A dataset with segments, and what replies must say of them."""

    def __init__(self, server: MetaServer) -> None:
        self.server = server
        self.client: MetaClient = server.client
        self.dataset = CatalogDriver(self.client).dataset("web")
        self.writer = Writer(self.client)
        self.worker = WorkerDriver(self.client)

    def save(self) -> list[str]:
        """Save a segment of every kind of facts, with a checksum and without."""
        made = []
        for facts in ALL_FACTS:
            for crc32c in (None, 0, 2**32 - 1):
                segment = segment_of(self.dataset, EPOCH)
                if facts is not None:
                    segment.facts.CopyFrom(facts)
                if crc32c is not None:
                    segment.crc32c = crc32c
                made.append(segment)
        return self.writer.save(*made)

    def check(self, ids: list[str]) -> None:
        """Both calls answer the messages that the rows make, and those that are filled in."""
        for statement in ("SELECT 1", "UPDATE segments SET message = NULL"):
            with self.server.running.database.write() as tx:
                tx.execute(text(statement))
            with self.server.running.database.single() as tx:
                kept_messages.fill(tx)
                rows = segments.get_many(tx, [UUID(one) for one in ids])
            expected = {
                row.id: convert.segment_info(self.server.settings.stores, row) for row in rows
            }
            assert {one.id: one for one in self.writer.get(*ids)} == expected
            page = self.writer.find("web")
            for segment in page.segments:
                if segment.HasField("layout"):
                    columns = page.layouts[segment.layout].promoted_columns
                    segment.facts.promoted_field_ids.extend(c.field_id for c in columns)
                    segment.ClearField("layout")
            live = {key: one for key, one in expected.items() if is_live(one)}
            assert {one.id: one for one in page.segments if one.id in expected} == live


def is_live(segment: SegmentInfo) -> bool:
    return not segment.HasField("tombstone_version")


@pytest.fixture
def scene(meta_server: MetaServer) -> Scene:
    return Scene(meta_server)


def test_registered_segments_are_answered_as_their_rows_say(scene: Scene) -> None:
    scene.check(scene.save())


def test_recorded_facts_are_answered(scene: Scene) -> None:
    ids = scene.save()
    read = [
        pb.ReadSegment(segment_id=ids[0], facts=ALL_FACTS[3]),
        pb.ReadSegment(segment_id=ids[1]),
    ]

    recorded = scene.client.operations.SetSegmentFacts(pb.SetSegmentFactsRequest(segments=read))

    assert recorded.recorded == 2
    scene.check(ids)


@pytest.mark.one_meta(False)
def test_the_inputs_and_the_output_of_a_merge_are_answered(scene: Scene) -> None:
    ids = scene.writer.save_many(scene.dataset, 8)
    scene.worker.plan(min_age_secs=0, dataset_name="web")
    task = scene.worker.poll()

    scene.worker.complete(task.task_id, scene.worker.output(task))

    (output,) = scene.writer.find("web").segments
    assert output.merge_count == 1
    scene.check([*ids, output.id])


def test_a_hidden_segment_is_answered(scene: Scene) -> None:
    ids = scene.save()

    scene.client.operations.HideSegment(
        pb.HideSegmentRequest(segment_id=ids[0], acceptance=CONSENT)
    )

    scene.check(ids)


def test_a_read_checksum_is_answered(scene: Scene) -> None:
    ids = scene.save()
    (before,) = scene.writer.get(ids[0])
    key = f"{before.cloud_object_key.prefix.prefix}/{before.cloud_object_key.key}"

    scene.client.operations.ReportObjectChecks(
        pb.ReportObjectChecksRequest(checks=[pb.ObjectCheck(object_key=key, crc32c=7)])
    )

    (after,) = scene.writer.get(ids[0])
    assert after.crc32c == 7
    scene.check(ids)
