"""A nursery writes the automatic columns of a dataset, and says which of them are usable."""

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.v1 import common_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as pb
from segments.keys import join_key
from segments.parquet.reader import read_segment
from tests.support.meta.dataset_life import set_settings
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery

KEYS = {"user.id": common_pb2.KQL_TYPE_STRING, "status": common_pb2.KQL_TYPE_LONG}


def records(count: int) -> bytes:
    """An export of records, the last of which has a text in place of a number."""
    data = LogsData()
    logs = data.resource_logs.add().scope_logs.add().log_records
    for number in range(count):
        record = logs.add(time_unix_nano=NOW + number)
        record.attributes.add(key="user.id").value.string_value = f"u{number % 3}"
        status = record.attributes.add(key="status").value
        if number < count - 1:
            status.int_value = 200
        else:
            status.string_value = "200"
    return data.SerializeToString()


# In less than 32 records Python reads the JSON; more than 8,192 are not a small file.
@pytest.mark.parametrize("count", [5, 100, 9_000])
def test_a_segment_names_the_columns_whose_values_are_exact(
    collector: CollectorDriver, count: int
) -> None:
    columns = [
        common_pb2.AutomaticColumn(attribute=key, type=type_, written=True)
        for key, type_ in KEYS.items()
    ]
    setting = pb.DatasetSettings(
        automatic_columns=pb.AutomaticColumns(enabled=True, columns=columns)
    )
    stored = set_settings(collector.client, collector.dataset_id, setting).automatic_columns
    ids = {column.attribute: column.field_id for column in stored.columns}
    collector.commit(collector.put(payloads=[records(count)]))

    nursery(collector.client).cycle()

    request = segment_lookup_pb2.FindSegmentsRequest()
    (segment,) = collector.client.segment_lookup.FindSegments(request).segments
    assert segment.written_facts.automatic_field_ids == [ids["user.id"]]
    assert not segment.facts.promoted_field_ids
    key = segment.cloud_object_key
    table = read_segment(collector.store, join_key(key.prefix.prefix, key.key))["logs"]
    values = table[f"${ids['user.id']}"].to_pylist()
    assert values == [f"u{number % 3}" for number in range(count)]
