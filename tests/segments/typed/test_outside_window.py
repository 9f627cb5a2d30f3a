"""Events outside the window of a dataset: found alike by collectors and nurseries."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collector.intake.conformity import RecordRules, reject_schema_violations
from dataplane.babies.columns import DecodedDataset
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.deduplication import SeenEvents
from dataplane.babies.payload import Payload
from dataplane.babies.reads import DatasetWork
from segments.deduplication import Deduplication, EventWindow
from segments.otlp.content import read_facts
from segments.parquet.lineage import DAY_NANOS
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.typed.conformity import OUTSIDE_WINDOW, SchemaMisfits, verdict
from segments.typed.window_check import WindowCheck
from tests.support.examples import examples

WINDOW = EventWindow(20_000, 20_002)
START, END = 20_000 * DAY_NANOS, 20_003 * DAY_NANOS
# Of records, and of their observation. 0, and what no signed column holds, count as absent.
TIMES = (0, 1, START - 1, START, END - 1, END, END + DAY_NANOS, 2**63 - 1, 2**63, 2**64 - 1)
VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"string_value": ""},
    {"string_value": "12"},
    {"string_value": "5b8efff7-98a3-4a6c-9d0e-7a1c2b3d4e5f"},
    {"bool_value": True},
    {"int_value": 7},
    {"int_value": 2**40},
    {"double_value": 3.5},
    {"bytes_value": b"12"},
    {"array_value": ArrayValue(values=[AnyValue(int_value=1)])},
)


class _Dataset(DecodedDataset):
    def rows(self) -> int:
        return sum(
            rows.table.num_rows for tables in self.columns.tables.values() for rows in tables
        )


def spec_of(kql_type: str, scope: str, *, enforced: bool) -> SegmentSpec:
    column = PromotedColumn("id_", kql_type, scope, "id")
    names = frozenset(("id_",)) if enforced else frozenset()
    return SegmentSpec((), (column,), names, "", Deduplication(1, "id_", WINDOW))


def decoded(body: bytes, spec: SegmentSpec, received_at: int) -> tuple[_Dataset, list[Any]]:
    assert spec.deduplication is not None
    dataset = _Dataset(0, DatasetWork("d", spec, ()), events=SeenEvents(spec.deduplication))
    payload = Payload("s", 0, "t", "logs", 0, body, received_at, len(body), is_validated=True)
    left_out = decode_pass("logs", [RoutedPayload(dataset, payload)])
    assert not left_out.undecodable
    return dataset, [part for _, part in left_out.schema_violations]


def payload_of(rnd: random.Random) -> bytes:
    data = LogsData()

    def identify(attributes: Any) -> None:
        for _ in range(rnd.randrange(3)):
            attributes.add(key=rnd.choice(("id", "other")), value=AnyValue(**rnd.choice(VALUES)))

    for _ in range(rnd.randrange(1, 4)):
        resource = data.resource_logs.add()
        identify(resource.resource.attributes)
        for _ in range(rnd.randrange(3)):
            scope = resource.scope_logs.add()
            identify(scope.scope.attributes)
            for _ in range(rnd.randrange(4)):
                record = scope.log_records.add(
                    time_unix_nano=rnd.choice(TIMES), observed_time_unix_nano=rnd.choice(TIMES)
                )
                identify(record.attributes)
    return data.SerializeToString()


@given(
    seed=st.integers(0, 2**32),
    kql_type=st.sampled_from(("string", "guid", "int", "long")),
    scope=st.sampled_from(("record", "resource", "scope")),
    enforced=st.booleans(),
)
@settings(deadline=None, max_examples=examples(150))
def test_collectors_reject_what_nurseries_quarantine(
    seed: int, kql_type: str, scope: str, enforced: bool
) -> None:
    body = payload_of(random.Random(seed))
    spec = spec_of(kql_type, scope, enforced=enforced)
    column = PromotedColumn("id_", kql_type, scope, "id")
    check = WindowCheck(WINDOW, column)

    dataset, parts = decoded(body, spec, received_at=START)
    judged = reject_schema_violations(
        "logs", body, RecordRules((column,) if enforced else (), check)
    )

    found = judged.schema_violations or SchemaMisfits()
    quarantined = sorted(record for part in parts for record in part.schema_violations.records)
    assert found.records == quarantined
    outside = [part for part in parts if part.cause == OUTSIDE_WINDOW]
    assert found.num_outside == sum(len(part.schema_violations.records) for part in outside)
    assert dataset.events is not None
    all_records = read_facts("logs", body).num_records
    assert dataset.rows() + dataset.events.duplicates + len(quarantined) == all_records
    if check.is_inside(read_facts("logs", body).times):
        assert not outside
    # The remaining records are inside.
    assert decoded(judged.payload, spec, received_at=START)[1] == []


@pytest.mark.parametrize("received_at", [START - 1, START], ids=["outside", "inside"])
def test_a_record_without_a_time_happened_when_it_was_received(received_at: int) -> None:
    """Collectors take it: that is now. A nursery may come days later."""
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add()
    record.attributes.add(key="id").value.string_value = "a"
    spec = spec_of("string", "record", enforced=False)

    dataset, parts = decoded(data.SerializeToString(), spec, received_at)

    assert (dataset.rows(), len(parts)) == ((0, 1) if received_at < START else (1, 0))


def test_another_window_is_another_verdict() -> None:
    """Nurseries of two days do not write one object with two contents."""
    column = PromotedColumn("id", "string", "record", "id")
    plain = verdict("d", [column])

    windows = [EventWindow(1, 3), EventWindow(1, 4), EventWindow(2, 4)]
    verdicts = {verdict("d", [column], (column, window)) for window in windows}

    assert len(verdicts | {plain}) == 4
