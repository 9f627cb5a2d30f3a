"""CheckConsistency: what a listing and the rows say of one another."""

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid4

import grpc
import pytest

from meta.store.checks import ledger_checks
from meta.store.checks.ledger_checks import Position
from meta.store.engine.pool import Database
from meta.store.segments import burial
from meta.store.versions import versions
from meta.v1 import operations_pb2 as pb
from meta.v1 import operations_pb2_grpc
from segments.inventory.findings import Finding
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

LONG_AGO = 1_000_000_000


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def stub(meta_server: MetaServer) -> Iterator[operations_pb2_grpc.OperationsServiceStub]:
    with grpc.insecure_channel(meta_server.address) as channel:
        yield operations_pb2_grpc.OperationsServiceStub(channel)


Stub = operations_pb2_grpc.OperationsServiceStub


def listed(key: str, size_bytes: int = 1_000, at: int = LONG_AGO) -> pb.ListedObject:
    return pb.ListedObject(object_key=key, size_bytes=size_bytes, modified_at_nanos=at)


def requests(objects: Iterable[pb.ListedObject], at_once: int) -> list[pb.CheckConsistencyRequest]:
    ordered = sorted(objects, key=lambda one: one.object_key)
    parts = [ordered[n : n + at_once] for n in range(0, len(ordered), at_once)] or [[]]
    found = [pb.CheckConsistencyRequest(objects=part) for part in parts]
    found[-1].end_of_listing = True
    return found


def check(stub: Stub, *objects: pb.ListedObject, at_once: int = 2) -> list[pb.Finding]:
    """Check a whole listing; answers all findings."""
    replies = list(stub.CheckConsistency(iter(requests(objects, at_once)), timeout=30))
    assert replies[-1].complete
    return [finding for reply in replies for finding in reply.findings]


def kinds(findings: list[pb.Finding]) -> list[str]:
    return sorted(pb.FindingKind.Name(one.kind)[13:] for one in findings)


def key_of(dataset: str, segment: object) -> str:
    return f"dataset/{dataset}/merged/{segment.cloud_object_key.key}"  # type: ignore[attr-defined]


def baby_key(stream: str, offset: int) -> str:
    return f"ingest-stream/{stream}/{offset:020}"


def test_a_bucket_that_holds_what_is_registered_has_no_findings(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    stub: Stub,
) -> None:
    segments = [segment_of(dataset) for _ in range(5)]
    writer.save(*segments)
    worker.plan()
    task = worker.poll()
    output = worker.output(task, key=f"{uuid4()}.parquet")
    worker.complete(task.task_id, output)
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(4):
        collector.commit(stream, offset, dataset)
    merged = nursery.segment(dataset)
    nursery.register(dataset, (stream, -1, 1), segment=merged)
    nursery.reap(stream, 0)

    findings = check(
        stub,
        *(listed(key_of(dataset, one)) for one in [*segments, merged]),
        listed(f"{task.cloud_object_prefix.prefix}/{output.cloud_object_key.key}", 5_000),
        *(listed(baby_key(stream, offset)) for offset in range(1, 4)),
        # The tail of an active stream is its collector's.
        listed(baby_key(stream, 4)),
        listed(f"quarantine/{stream}/{0:020}/whole"),
    )

    assert findings == []


def test_missing_objects_are_told_by_segment_and_stream(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    dataset: str,
    stub: Stub,
) -> None:
    segments = [segment_of(dataset) for _ in range(3)]
    ids = writer.save(*segments)
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(4):
        collector.commit(stream, offset, dataset)
    merged = nursery.segment(dataset)
    nursery.register(dataset, (stream, -1, 1), segment=merged)

    findings = check(
        stub,
        listed(key_of(dataset, segments[0])),
        listed(key_of(dataset, segments[2]), 999),
        listed(key_of(dataset, merged)),
        # Offsets 0 and 1 are merged, so they may be gone; 2 may not.
        listed(baby_key(stream, 3)),
        at_once=1,
    )

    assert kinds(findings) == ["BABY_MISSING", "OBJECT_MISSING", "SIZE_MISMATCH"]
    assert {f.subject_id for f in findings} == {ids[1], ids[2], stream}
    assert {f.object_key for f in findings} == {
        key_of(dataset, segments[1]),
        key_of(dataset, segments[2]),
        baby_key(stream, 2),
    }


def test_an_empty_bucket_misses_everything(writer: Writer, dataset: str, stub: Stub) -> None:
    for _ in range(5):
        writer.save(*(segment_of(dataset) for _ in range(500)))

    findings = check(stub)

    assert kinds(findings) == ["OBJECT_MISSING"] * 2_500
    assert len({f.subject_id for f in findings}) == 2_500


def test_an_object_without_a_row_hides_no_missing_one(
    writer: Writer, dataset: str, stub: Stub
) -> None:
    segments = sorted((segment_of(dataset) for _ in range(3)), key=lambda s: key_of(dataset, s))
    writer.save(*segments)
    first, *others = (key_of(dataset, one) for one in segments)

    findings = check(
        stub,
        listed(f"dataset/{dataset}/aside"),
        *map(listed, others),
        listed(f"dataset/{dataset}/of nobody"),
        at_once=10,
    )

    assert [f.object_key for f in findings if f.kind == pb.FINDING_KIND_OBJECT_MISSING] == [first]
    assert kinds(findings) == ["OBJECT_MISSING", *["OBJECT_UNREGISTERED"] * 2]


def test_unknown_objects_are_garbage_once_they_are_old(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
    stub: Stub,
) -> None:
    stream = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream, 0, dataset)
    nursery.stop(stream, 0)
    old, young = (f"dataset/{dataset}/merged/{uuid4()}.parquet" for _ in range(2))

    findings = check(
        stub,
        listed(old),
        listed(young, at=2**62),
        listed(baby_key(stream, 0)),
        listed(baby_key(stream, 1)),
        listed("readme.txt"),
    )

    assert {(f.object_key, bool(f.repair)) for f in findings} == {
        (old, True),
        (baby_key(stream, 1), True),
        ("readme.txt", False),
    }
    assert kinds(findings) == ["OBJECT_UNREGISTERED"] * 3


def test_a_check_is_resumed_behind_what_it_has_checked(
    writer: Writer, dataset: str, stub: Stub
) -> None:
    segments = sorted((segment_of(dataset) for _ in range(4)), key=lambda s: key_of(dataset, s))
    writer.save(*segments)
    objects = [listed(key_of(dataset, one)) for one in segments]
    first = list(stub.CheckConsistency(iter([pb.CheckConsistencyRequest(objects=objects[:2])])))

    rest = pb.CheckConsistencyRequest(
        resume_after=first[-1].checked_through, objects=objects[3:], end_of_listing=True
    )
    replies = list(stub.CheckConsistency(iter([rest])))

    assert not first[-1].complete
    assert first[-1].checked_through == objects[1].object_key
    assert [f.object_key for reply in replies for f in reply.findings] == [objects[2].object_key]


def test_rows_that_contradict_one_another_are_told(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    stub: Stub,
) -> None:
    segments = [segment_of(dataset) for _ in range(4)]
    ids = writer.save(*segments)
    worker.plan()
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(6):
        collector.commit(stream, offset, dataset)
    merged = [nursery.segment(dataset) for _ in range(3)]
    for number, one in enumerate(merged):
        nursery.register(dataset, (stream, 2 * number - 1, 2 * number + 1), segment=one)
    with meta_server.running.database.write() as tx:
        burial.bury(tx, [UUID(ids[0])], versions.allocate(tx))
        tx.exec_driver_sql("UPDATE registrations SET end_offset = 2 WHERE end_offset = 3")
        tx.exec_driver_sql("UPDATE ingest_streams SET deleted_offset = 7")
        tx.exec_driver_sql("UPDATE dataset_stats SET live_segments = live_segments + 1")

    findings = check(stub, *(listed(key_of(dataset, one)) for one in [*segments, *merged]))

    assert kinds(findings) == ["OFFSET_CHAIN", "OFFSET_ORDER", "STATS", "STATS", "TASK_INPUT_DEAD"]
    whole = ledger(meta_server.running.database, ledger_checks.ROWS_AT_ONCE)
    assert len(whole) == 5
    assert all(ledger(meta_server.running.database, rows) == whole for rows in (2, 3))
    chain = next(f for f in findings if f.kind == pb.FINDING_KIND_OFFSET_CHAIN)
    assert chain.subject_id == stream
    assert "ends at 2, the next begins at 3" in chain.message


def ledger(database: Database, rows_at_once: int) -> list[Finding]:
    """Check the rows alone, in pages of so many; a transaction a page, as the server does."""
    findings: list[Finding] = []
    for kind in ledger_checks.KINDS:
        position: Position | None = None
        while True:
            with database.read() as tx:
                page = ledger_checks.read_page(tx, kind, position, 10, rows_at_once=rows_at_once)
            findings += page.findings
            position = page.next_position
            if position is None:
                break
    return findings


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "request_",
    [
        pb.CheckConsistencyRequest(objects=[listed("b"), listed("a")]),
        pb.CheckConsistencyRequest(objects=[listed("b"), listed("b")]),
        pb.CheckConsistencyRequest(objects=[listed("b")], resume_after="c"),
        pb.CheckConsistencyRequest(objects=[listed("b")], listed_through="a"),
        pb.CheckConsistencyRequest(objects=[listed("nul\0")]),
        pb.CheckConsistencyRequest(objects=[listed("x" * 2_000)]),
        pb.CheckConsistencyRequest(objects=[listed(f"{n:04}") for n in range(1_001)]),
    ],
    ids=["order", "twice", "before resume", "through", "nul", "long", "many"],
)
def test_a_listing_that_cannot_be_is_refused(
    stub: Stub, request_: pb.CheckConsistencyRequest
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        list(stub.CheckConsistency(iter([request_])))

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_bytes_that_are_not_a_message_end_the_stream_as_invalid(meta_server: MetaServer) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        call: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            "/meta.v1.OperationsService/CheckConsistency"
        )

        with pytest.raises(grpc.RpcError) as refused:
            list(call(iter([b"\xff\xff"]), timeout=10))

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
