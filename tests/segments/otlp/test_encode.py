"""Records read from a segment equal the written ones, with the documented exceptions."""

import base64
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.otlp.decode import decode
from segments.otlp.official import OFFICIAL_CLASSES
from segments.parquet.footer import SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from tests.support.examples import examples
from tests.support.otlp.encode import to_logs, to_metrics, to_traces
from tests.support.otlp.messages import fill
from tests.support.otlp.oracle import KINDS, time_of
from tests.support.otlp.records import LEVELS, records

TO_OTLP = {"logs": to_logs, "metrics": to_metrics, "traces": to_traces}
RECEIVED_AT = 1_699_999_999_123_456_789


def without_exceptions(signal: Signal, data: Any) -> Any:
    """Change a message as docs/segment-format.md says that a segment may."""
    by_resource, by_scope, by_record = LEVELS[signal]
    for container in getattr(data, by_resource):
        plain_attributes(container.resource.attributes) if container.HasField("resource") else None
        for scope in getattr(container, by_scope):
            plain_attributes(scope.scope.attributes) if scope.HasField("scope") else None
            for record in getattr(scope, by_record):
                RULES[signal](record)
    return data


def plain_attributes(entries: Any) -> None:
    for entry in entries:
        entry.ClearField("key_strindex")
        entry.value.SetInParent()
        plain_value(entry.value)


def plain_value(value: Any) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value_strindex":
        value.ClearField(kind)
    elif kind == "bytes_value":
        value.string_value = base64.b64encode(value.bytes_value).decode()
    elif kind == "double_value" and not math.isfinite(value.double_value):
        text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value.double_value, "NaN")
        value.string_value = text
    elif kind == "array_value":
        for one in value.array_value.values:
            plain_value(one)
    elif kind == "kvlist_value":
        plain_attributes(value.kvlist_value.values)


def plain_log(record: Any) -> None:
    observed = time_of(record.observed_time_unix_nano)
    record.time_unix_nano = time_of(record.time_unix_nano) or observed or RECEIVED_AT
    record.observed_time_unix_nano = observed or 0
    plain_attributes(record.attributes)
    if record.body.WhichOneof("value") not in ("bytes_value", "double_value"):
        plain_value(record.body) if record.HasField("body") else None


def plain_span(span: Any) -> None:
    span.start_time_unix_nano = time_of(span.start_time_unix_nano) or RECEIVED_AT
    span.end_time_unix_nano = time_of(span.end_time_unix_nano) or 0
    for one in (span, *span.events, *span.links):
        plain_attributes(one.attributes)


def plain_metric(metric: Any) -> None:
    plain_attributes(metric.metadata)
    for kind in KINDS:
        if metric.WhichOneof("data") != kind:
            continue
        for point in getattr(metric, kind).data_points:
            point.time_unix_nano = time_of(point.time_unix_nano) or RECEIVED_AT
            point.start_time_unix_nano = time_of(point.start_time_unix_nano) or 0
            plain_attributes(point.attributes)
            for exemplar in getattr(point, "exemplars", ()):
                plain_attributes(exemplar.filtered_attributes)


RULES = {"logs": plain_log, "metrics": plain_metric, "traces": plain_span}


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_columns_turn_back_into_the_records_they_came_from(signal: Signal, seed: int) -> None:
    data = fill(OFFICIAL_CLASSES[signal](), random.Random(seed))

    table = decode(signal, [data.SerializeToString()], [RECEIVED_AT]).table

    expected = records(signal, without_exceptions(signal, data))
    found = records(signal, TO_OTLP[signal](table)) if table is not None else Counter()
    assert found == expected


def test_a_segment_on_disk_turns_back_into_the_records_it_was_made_of(tmp_path: Path) -> None:
    spec = SegmentSpec()
    expected = {}
    with SegmentWriter(tmp_path / "x", SIGNALS, spec, SegmentFooter("d", "test")) as writer:
        for signal in SIGNALS:
            messages = [
                fill(OFFICIAL_CLASSES[signal](), random.Random(seed)) for seed in range(200)
            ]
            payloads = [m.SerializeToString() for m in messages]
            table = decode(signal, payloads, [RECEIVED_AT] * len(payloads)).table
            assert table is not None
            writer.write(signal, sort_table(table, spec, signal))
            expected[signal] = Counter[tuple[bytes, ...]]()
            for message in messages:
                expected[signal].update(records(signal, without_exceptions(signal, message)))
        writer.close()

    with SegmentFile(tmp_path / "x") as segment:
        sections = {s: pa.Table.from_batches(segment.batches(s, 10_000)) for s in SIGNALS}
    for signal in SIGNALS:
        assert records(signal, TO_OTLP[signal](sections[signal])) == expected[signal]
