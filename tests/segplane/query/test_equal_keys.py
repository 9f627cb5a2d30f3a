"""An attribute that is sent twice: every language filters by the value that it shows."""

import json

import polars as pl
import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.read import open_dataset
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery

SHOWN = (
    "SELECT attribute(attributes, 'user') FROM web",
    "SELECT attributes ->> '$.user' FROM web",
    "SELECT json_extract_string(attributes, '$.user') FROM web",
    'SELECT "user" FROM web',
    "web | project x = tostring(attributes.user)",
    "web | extend x = tostring(parse_json(tostring(attributes)).user) | project x",
    "web | project user",
)
CONDITIONS = (
    "SELECT count(*) FROM web WHERE attribute(attributes, 'user') = '{}'",
    "SELECT count(*) FROM web WHERE attributes ->> '$.user' = '{}'",
    """SELECT count(*) FROM web WHERE "user" = '{}'""",
    "web | where attributes.user == '{}' | count",
    "web | where user == '{}' | count",
    "web | where user has '{}' | count",
)


def payload() -> bytes:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=EPOCH)
    for value in ("first", "second"):
        record.attributes.add(key="user").value.string_value = value
    return data.SerializeToString()


@pytest.fixture
def sent(segments: SegmentWriter, meta_server: MetaServer) -> SegmentWriter:
    """A record in a segment from before the attribute is promoted, and one in a later segment."""
    collector = CollectorDriver(meta_server.client, segments.dataset)
    for is_promoted in (False, True):
        if is_promoted:
            promote(segments)
        collector.commit(collector.put(payloads=[payload()]))
        nursery(meta_server.client).cycle()
    return segments


def promote(segments: SegmentWriter) -> None:
    column = common_pb2.PromotedColumn(
        name="user",
        type=common_pb2.KQL_TYPE_STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="user",
    )
    settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=[column]))
    segments.client.operations.SetDatasetSettings(
        pb.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    )


@pytest.mark.long
def test_an_attribute_that_is_sent_twice_is_filtered_by_the_value_that_is_shown(
    sent: SegmentWriter, queries: QueryDriver, meta_server: MetaServer
) -> None:
    for text in SHOWN:
        assert queries.rows(text) == [("first",), ("first",)], text
    for text in CONDITIONS:
        assert queries.rows(text.format("first")) == [(2,)], text
        assert queries.rows(text.format("second")) == [(0,)], text
    with open_dataset("web", meta_address=meta_server.address) as web:
        lazy = web.polars()
        assert lazy.collect()["user"].to_list() == ["first", "first"]
        assert lazy.filter(pl.col("user") == "first").collect().height == 2
        assert lazy.filter(pl.col("user") == "second").collect().height == 0
        # The text has both, in their order.
        for text in lazy.collect()["attributes"]:
            assert json.loads(text, object_pairs_hook=list) == [
                ("user", "first"),
                ("user", "second"),
            ]
