"""PyIceberg and Polars read what was written, at one version, and prune by day and signal."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError, RESTError

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

FIRST_DAY = datetime.fromtimestamp(EPOCH // 10**9, UTC)


@pytest.fixture
def catalog(gateway: GatewayServer) -> RestCatalog:
    found = load_catalog("segplane", type="rest", uri=gateway.uri)
    assert isinstance(found, RestCatalog)
    return found


def day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def plain_rows(table: Any) -> Counter[tuple[str, int]]:
    """Signal and exact time of each row of an Arrow table."""
    micros = table["timestamp"].cast("int64").to_pylist()
    nanos = table["timestamp_nanos"].to_pylist()
    exact = (1_000 * high + low for high, low in zip(micros, nanos, strict=True))
    return Counter(zip(table["signal"].to_pylist(), exact, strict=True))


def test_pyiceberg_reads_every_record_exactly(
    catalog: RestCatalog, segments: SegmentWriter
) -> None:
    for number in range(4):
        segments.write(day=number, signals=("logs",) if number % 2 else ("metrics", "traces"))
    # One file for stray times of many days, which no partition can hold.
    segments.write(day=1, days=3, rows=9)

    table = catalog.load_table("default.web")

    assert catalog.list_namespaces() == [("default",)]
    assert ("default", "web") in catalog.list_tables("default")
    assert plain_rows(table.scan().to_arrow()) == Counter(segments.rows)
    one_day = table.scan(row_filter=f"timestamp >= '{day(2)}' AND timestamp < '{day(3)}'")
    expected = [(signal, time) for signal, time in segments.rows if 2 <= (time - EPOCH) / DAY < 3]
    assert plain_rows(one_day.to_arrow()) == Counter(expected)
    assert len(list(one_day.plan_files())) == 2
    logs = table.scan(row_filter="signal = 'logs'")
    assert len(list(logs.plan_files())) == 3
    assert plain_rows(logs.to_arrow()) == Counter(row for row in segments.rows if row[0] == "logs")


def test_a_pinned_version_reads_the_same_through_merges(
    catalog: RestCatalog,
    segments: SegmentWriter,
    meta_server: MetaServer,
) -> None:
    for _ in range(4):
        segments.write()
    before = catalog.load_table("default.web")
    version = before.metadata.current_snapshot_id
    rows = Counter(segments.rows)
    worker = WorkerDriver(meta_server.client)
    worker.plan()
    assert worker.find_task() is not None
    for _ in range(2):
        segments.write(day=5)

    wait_until(
        lambda: catalog.load_table("default.web").metadata.current_snapshot_id != version,
        "the new segments are shown",
    )

    pinned = catalog.load_table(f"default.web@{version}")
    latest = catalog.load_table("default.web")
    assert plain_rows(pinned.scan().to_arrow()) == rows
    assert plain_rows(latest.scan(snapshot_id=version).to_arrow()) == rows
    assert plain_rows(latest.scan().to_arrow()) == Counter(segments.rows)
    times = [one.timestamp_ms for one in latest.metadata.snapshots]
    assert times == sorted(times)
    assert latest.inspect.snapshots().num_rows == len(times)
    assert latest.inspect.files().num_rows == segments.files


def test_a_promoted_column_is_null_in_older_files(
    catalog: RestCatalog, segments: SegmentWriter
) -> None:
    segments.write(rows=10)
    columns = [
        common_pb2.PromotedColumn(
            name=name, type=kind, scope=common_pb2.ATTRIBUTE_SCOPE_RECORD, attribute=name
        )
        for name, kind in (
            ("user.id", common_pb2.KQL_TYPE_STRING),
            ("seen", common_pb2.KQL_TYPE_DATETIME),
        )
    ]
    settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=columns))
    request = pb.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    segments.client.operations.SetDatasetSettings(request)
    segments.write(day=1, rows=10)

    table = catalog.load_table("default.web")
    fields = {field.name: field for field in table.schema().fields}
    shown = table.scan(selected_fields=("timestamp", "user.id", "seen")).to_arrow().to_pylist()

    assert fields["seen_nanos"].field_id == fields["seen"].field_id + 1
    boundary = FIRST_DAY + timedelta(days=1)
    older = [row for row in shown if row["timestamp"] < boundary]
    newer = [row for row in shown if row["timestamp"] >= boundary]
    assert (len(older), len(newer)) == (10, 10)
    assert {row["user.id"] for row in older} == {None}
    assert {row["user.id"] for row in newer} != {None}


def test_polars_reads_the_same(catalog: RestCatalog, segments: SegmentWriter) -> None:
    segments.write(signals=("logs", "metrics"))
    segments.write(day=1, signals=("traces",))

    frame = pl.scan_iceberg(catalog.load_table("default.web"))
    counted = frame.group_by("signal").len().collect()

    assert dict(counted.iter_rows()) == {"logs": 20, "metrics": 20, "traces": 20}
    later = frame.filter(pl.col("timestamp") >= FIRST_DAY + timedelta(days=1)).collect()
    assert set(later["signal"]) == {"traces"}


def test_an_empty_dataset_is_an_empty_table(catalog: RestCatalog, segments: SegmentWriter) -> None:
    table = catalog.load_table("default.web")

    assert table.scan().to_arrow().num_rows == 0
    assert segments.files == 0


def test_unknown_tables_and_writers_are_refused(
    catalog: RestCatalog, segments: SegmentWriter
) -> None:
    segments.write(rows=5)
    with pytest.raises(NoSuchTableError):
        catalog.load_table("default.none")
    table = catalog.load_table("default.web")

    with (
        pytest.raises((RESTError, NotImplementedError), match=r"read-only|not support"),
        table.transaction() as change,
    ):
        change.set_properties({"owner": "me"})
