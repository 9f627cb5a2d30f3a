"""A record's id follows from its place, whichever payloads are decoded beside its own."""

import random
from collections.abc import Sequence
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs

from dataplane.babies.columns import DecodedDataset
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.payload import Payload
from dataplane.babies.reads import DatasetWork
from segments.otlp.split import cut
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal
from tests.support.examples import examples
from tests.support.otlp import hostile

SPEC = SegmentSpec(
    (),
    (
        PromotedColumn("id", "string", "receipt", "id", 1_000, is_bound=True),
        PromotedColumn("ingested_at", "datetime", "receipt", "ingested_at", 1_002, is_bound=True),
        PromotedColumn("batch_id", "string", "request", "batch_id", 1_004, is_bound=True),
    ),
)
COMPARED = ("id", "ingested_at", "timestamp", "attributes", "service_name", "batch_id")


def payload(body: bytes, offset: int = 0, piece: int = 0, signal: Signal = "logs") -> Payload:
    received_at = 1_700_000_000_123_456_789 + offset
    # Of some exports the digest is not there; of others more than the digest is.
    digest = bytes([offset % 256]) * (0, 16, 24)[offset % 3]
    return Payload(
        "s", offset, "t", signal, 0, body, received_at, len(body), False, piece, digest=digest
    )


def decoded(*passes: Sequence[Payload]) -> list[tuple[object, ...]]:
    """The rows of some passes over payloads of one signal, sorted by id."""
    taker = DecodedDataset(0, DatasetWork("d", SPEC, ()))
    for payloads in passes:
        decode_pass(payloads[0].signal, [RoutedPayload(taker, own) for own in payloads])
    rows = [
        tuple(row.values())
        for own in taker.columns.tables.values()
        for taken in own
        for row in taken.table.select(COMPARED).to_pylist()
    ]
    return sorted(rows, key=lambda row: str(row[0]))


def logs(*attributes: dict[str, AnyValue]) -> bytes:
    records = [
        LogRecord(attributes=[KeyValue(key=k, value=v) for k, v in own.items()])
        for own in attributes
    ]
    resources = ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])
    return LogsData(resource_logs=[resources]).SerializeToString()


@settings(max_examples=examples(60))
@given(st.sampled_from(SIGNALS), st.integers(0, 2**32), st.integers(1, 6), st.data())
def test_rows_have_the_same_ids_however_payloads_are_decoded_together(
    signal: Signal, seed: int, number: int, data: st.DataObject
) -> None:
    rnd = random.Random(seed)
    payloads = [payload(hostile.plain(signal, rnd), n, signal=signal) for n in range(number)]
    together = decoded(payloads)

    order = data.draw(st.permutations(payloads))
    size = data.draw(st.integers(1, number))
    remaining = iter(order)
    apart = decoded(*iter(lambda: list(islice(remaining, size)), []))

    assert apart == together
    made = [row[0] for row in together if str(row[0])[32:33] == "-"]
    assert len(set(made)) == len(made)


def test_pieces_of_a_payload_have_their_own_ids() -> None:
    body = logs(*[{}] * 30)
    pieces = list(cut("logs", body, is_validated=True, records_max=4))
    assert len(pieces) > 1

    rows = decoded([payload(piece, piece=n) for n, piece in enumerate(pieces)])

    assert len({row[0] for row in rows}) == len(rows) == 30


@pytest.mark.parametrize(
    ("given_id", "expected"),
    [
        (AnyValue(string_value="o-1"), "o-1"),
        (AnyValue(string_value=""), ""),
        (AnyValue(int_value=2**53 + 1), str(2**53 + 1)),
        (AnyValue(bytes_value=b"\x01"), "AQ=="),
    ],
)
def test_an_id_that_came_with_the_record_is_kept_as_text(given_id: AnyValue, expected: str) -> None:
    # Few and many records are read by two readers of JSON.
    for others in (0, 100):
        rows = decoded([payload(logs({"id": given_id}, *[{}] * others))])

        assert expected in {row[0] for row in rows}
        assert len({row[0] for row in rows}) == others + 1


def test_an_attribute_is_never_a_time_of_receipt() -> None:
    text = AnyValue(string_value="1999-01-01T00:00:00Z")

    ((_, time, *_),) = decoded([payload(logs({"ingested_at": text, "id": AnyValue()}))])

    assert getattr(time, "value", None) == 1_700_000_000_123_456_789


def test_records_that_were_quarantined_by_themselves_share_no_id_with_the_rest() -> None:
    whole = payload(logs({}, {}, {}))
    part = whole._replace(body=logs({}), part="0-0123456789abcdef")

    assert not {row[0] for row in decoded([whole])} & {row[0] for row in decoded([part])}


def test_a_batch_id_is_the_digest_of_the_export_and_never_an_attribute() -> None:
    text = AnyValue(string_value="7" * 32)
    # Few and many records are read by two readers of JSON.
    for number in (2, 100):
        body = logs(*[{"batch_id": text}] * number)
        rows = decoded([payload(body, offset) for offset in range(3)])

        assert {(row[1].value, row[-1]) for row in rows} == {  # type: ignore[attr-defined]
            (1_700_000_000_123_456_789, None),
            (1_700_000_000_123_456_790, "01" * 16),
            (1_700_000_000_123_456_791, "02" * 16),
        }
        assert len(rows) == 3 * number
