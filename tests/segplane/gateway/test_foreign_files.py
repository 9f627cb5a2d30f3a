"""A file that a client registered breaks no reader of its dataset, and is read where it can be."""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from janitor import jobs
from janitor.footers import read_footers
from meta.errors import ForeignRefused
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import (
    FOREIGN_STATE_MAPPED,
    FOREIGN_STATE_UNREADABLE,
    SIGNAL_LOGS,
    SIGNAL_TRACES,
)
from segplane.__main__ import main
from segplane.read import open_dataset
from segplane.read.files.left_out import SegmentsLeftOut
from tests.support.foreign_files import SECOND, ForeignWriter, logs, parquet, tools_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.segments import EPOCH, Writer
from tests.support.meta.server import MetaServer

RunMain = Callable[..., tuple[str, str]]
COUNT = "web | summarize n = count() by signal"
# What no reader can take for records, and what its warning says.
UNREADABLE = {
    "no Parquet": (b"rows of somebody", "not a readable Parquet file"),
    "no time": (parquet(pa.table({"body": ["a", "b", "c"]})), "no column 'timestamp'"),
    "other rows": (parquet(logs(2)), "has 2 rows, registered are 3"),
    "no object": (None, "no such object"),
}


@pytest.fixture
def others(meta_server: MetaServer, segments: SegmentWriter) -> ForeignWriter:
    return ForeignWriter(meta_server, segments.dataset)


@pytest.fixture
def run_main(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunMain:
    """Give a function that runs a command as its program does; returns what it printed."""
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)

    def call(*arguments: str) -> tuple[str, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["segplane", *arguments])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return capsys.readouterr()

    return call


def counts(meta_server: MetaServer) -> tuple[int, list[str]]:
    """Read by segplane.read; returns the rows and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with open_dataset("web", meta_address=meta_server.address) as web:
            rows = web.to_table().num_rows
            assert web.newest(1_000).num_rows == rows
            assert len(web.left_out) == len(caught)
    return rows, [str(w.message) for w in caught if w.category is SegmentsLeftOut]


def iceberg(gateway: GatewayServer) -> tuple[int, dict[str, str]]:
    table = load_catalog("segplane", type="rest", uri=gateway.uri).load_table("default.web")
    return len(table.scan(selected_fields=("timestamp",)).to_arrow()), table.properties


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_mapped_is_skipped_and_named(
    meta_server: MetaServer, segments: SegmentWriter, others: ForeignWriter, kind: str
) -> None:
    segments.write(rows=20)
    body, reason = UNREADABLE[kind]
    segment_id = others.save(body, 3)

    for is_read_by_janitor in (False, True):
        if is_read_by_janitor:
            read_footers(tools_of(meta_server))
        rows, (warning,) = counts(meta_server)
        assert rows == 20
        assert segment_id in warning
        assert f"dataset/{segments.dataset}/merged/" in warning
        assert reason in warning


@pytest.mark.parametrize("is_read_by_janitor", [False, True], ids=["unread", "read"])
def test_an_object_that_is_not_parquet_breaks_no_reader(
    meta_server: MetaServer,
    gateway: GatewayServer,
    segments: SegmentWriter,
    others: ForeignWriter,
    run_main: RunMain,
    is_read_by_janitor: bool,
) -> None:
    segments.write(rows=20)
    segment_id = others.save(b"rows of somebody", 3)
    if is_read_by_janitor:
        read_footers(tools_of(meta_server))

    _, (warning,) = counts(meta_server)
    answer = gateway.query(COUNT)
    assert answer.json == [{"signal": "logs", "n": 20}]
    assert json.loads(answer.headers["segplane-warnings"]) == [warning]
    read, properties = iceberg(gateway)
    assert read == 20
    assert properties["segplane.left-out-segments"] == "1"
    assert segment_id in properties["segplane.left-out"]
    for command, shown in (
        (("query", COUNT, "--format", "csv"), "logs,20"),
        (("sql", "--json", "-c", "SELECT count(*) AS n FROM web"), '"n":20'),
        (("datasets", "preview", "web"), "logs"),
        (("read", "web", "--output", "-", "--format", "json"), '"logs"'),
    ):
        printed, complained = run_main(*command)
        assert shown in printed
        assert complained.count(f"warning: {warning}") == 1


def test_fsck_and_segments_list_name_what_readers_skip(
    meta_server: MetaServer, segments: SegmentWriter, others: ForeignWriter, run_main: RunMain
) -> None:
    segments.write(rows=20)
    segment_id = others.save(b"rows of somebody", 3)
    assert segment_id not in run_main("segments", "find", "--unreadable")[0]
    assert len(run_main("segments", "find", "--urls")[0].splitlines()) == 2

    read_footers(tools_of(meta_server))

    # An engine that is given these URLs reads all of them.
    urls, complained = run_main("segments", "find", "--urls")
    assert len(urls.splitlines()) == 1
    assert complained.count(f"segment {segment_id} is skipped") == 1

    (shown,) = json.loads(run_main("segments", "find", "--unreadable", "--json")[0])
    assert shown["id"] == segment_id
    assert "not a readable Parquet file" in shown["foreign"]["reason"]
    for options in ((), ("--deep",)):
        printed, _ = run_main("fsck", *options)
        assert f"unreadable: segment {segment_id}, dataset/{segments.dataset}/merged/" in printed
        assert "0 violations, 0 orphans; withheld from readers: 1 unreadable" in printed


def test_a_registration_may_have_wider_bounds_than_the_file(
    meta_server: MetaServer, segments: SegmentWriter, others: ForeignWriter
) -> None:
    segment_id = others.save(parquet(logs(3)), 3, EPOCH - SECOND, EPOCH + 60 * SECOND)
    broken = others.save(b"rows of somebody", 3)

    read_footers(tools_of(meta_server))

    states = {s.id: s.foreign.state for s in Writer(meta_server.client).find("web").segments}
    assert states == {segment_id: FOREIGN_STATE_MAPPED, broken: FOREIGN_STATE_UNREADABLE}
    assert counts(meta_server)[0] == 3


def test_the_header_of_an_answer_names_some_of_very_many(
    gateway: GatewayServer, segments: SegmentWriter, others: ForeignWriter
) -> None:
    segments.write(rows=20)
    for _ in range(25):
        others.save(None, 3)

    header = gateway.query(COUNT).headers["segplane-warnings"]

    told = json.loads(header)
    assert len(header) < 5_000
    assert told[-1].startswith("further segments are skipped")
    assert len(told) > 5


def test_a_check_of_all_bytes_finds_no_damage_in_a_mapped_file(
    others: ForeignWriter, run_main: RunMain
) -> None:
    others.save(parquet(logs(3)), 3)

    assert "1 objects" in run_main("fsck", "--data")[0]


def test_a_file_that_was_never_readable_is_not_damage(
    meta_server: MetaServer, others: ForeignWriter, run_main: RunMain
) -> None:
    others.save(b"rows of somebody", 3)
    tools = tools_of(meta_server)
    jobs.scrub(tools)
    read_footers(tools)
    jobs.scrub(tools)

    damaged = meta_server.client.operations.ListDamagedObjects(pb.ListDamagedObjectsRequest())
    assert not damaged.objects
    checked, _ = run_main("fsck", "--data")
    assert "0 damaged, 0 not read; withheld from readers: 1 unreadable" in checked


def test_a_released_object_is_read_once_more(
    meta_server: MetaServer, segments: SegmentWriter, others: ForeignWriter, run_main: RunMain
) -> None:
    message = others.described(None, 3)
    (segment_id,) = Writer(meta_server.client).save(message)
    read_footers(tools_of(meta_server))
    assert counts(meta_server)[0] == 0
    others.put(message, parquet(logs(3)))

    run_main("segments", "release", segment_id)
    assert counts(meta_server) == (3, [])
    read_footers(tools_of(meta_server))
    assert counts(meta_server) == (3, [])


@pytest.mark.long
def test_a_plain_file_is_read_by_every_reader_and_iceberg_says_that_it_is_not(
    meta_server: MetaServer, gateway: GatewayServer, others: ForeignWriter, run_main: RunMain
) -> None:
    """A file as pyarrow writes it; the remainder of a time and wider types are kept."""
    nanos = pa.array([0, 7, 999], pa.int16())
    table = logs(3, timestamp_nanos=nanos, tags=[["a"], None, ["b", "c"]])
    others.save(parquet(table), 3, end=EPOCH + 2 * SECOND + 999)
    kql = "web | sort by timestamp asc | project body, severity, attributes, timestamp_nanos"
    sql = "SELECT body, severity, attributes, timestamp_nanos FROM web ORDER BY timestamp"
    expected = [
        ("line 0", "INFO", {"user.id": 0, "tags": ["a"]}, 0),
        ("line 1", "INFO", {"user.id": 1}, 7),
        ("line 2", "INFO", {"user.id": 2, "tags": ["b", "c"]}, 999),
    ]

    for is_read_by_janitor in (False, True):
        if is_read_by_janitor:
            read_footers(tools_of(meta_server))
        assert counts(meta_server) == (3, [])
        with open_dataset("web", meta_address=meta_server.address) as web:
            assert rows_of(web.to_table().to_pylist()) == expected
            assert web.duckdb().filter("severity_number = 9").count("*").fetchall() == [(3,)]
        for text in (kql, sql):
            answer = gateway.query(text)
            assert rows_of(answer.json) == expected
            assert "segplane-warnings" not in answer.headers
        assert rows_of(json.loads(run_main("sql", "--json", "-c", sql)[0])) == expected
        read, properties = iceberg(gateway)
        assert read == 0
        assert "a merge worker makes one of it" in properties["segplane.left-out"]
    (segment,) = Writer(meta_server.client).find("web", signals=[SIGNAL_LOGS]).segments
    assert segment.foreign.state == FOREIGN_STATE_MAPPED
    assert not Writer(meta_server.client).find("web", signals=[SIGNAL_TRACES]).segments


def rows_of(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            row["body"],
            row["severity"],
            # KQL's attributes are dynamic, and JSON in its answer.
            json.loads(row["attributes"])
            if isinstance(row["attributes"], str)
            else row["attributes"],
            row["timestamp_nanos"],
        )
        for row in rows
    ]


def test_a_dataset_names_the_column_of_times_and_may_refuse_such_files(
    meta_server: MetaServer, others: ForeignWriter, run_main: RunMain
) -> None:
    renamed = logs(3).rename_columns(["seen_at", "body", "severity_number", "user.id"])
    run_main("datasets", "columns", "web", "--time-column", "seen_at")
    others.save(parquet(renamed), 3)
    # The usual name counts where the other one is missing.
    others.save(parquet(logs(4)), 4)
    assert counts(meta_server) == (7, [])
    read_footers(tools_of(meta_server))
    assert counts(meta_server) == (7, [])

    message = others.described(parquet(logs(2)), 2)
    (saved,) = Writer(meta_server.client).save(message)
    shown, _ = run_main("datasets", "limits", "web", "--refuse-foreign")
    assert "foreign files    refused" in shown
    assert "seen_at" in run_main("datasets", "columns", "web")[0]
    with pytest.raises(ForeignRefused, match="send what is in it"):
        others.save(parquet(logs(2)), 2)
    # A repetition is of an earlier call, and what is registered stays.
    assert Writer(meta_server.client).save(message) == [saved]
    assert counts(meta_server) == (9, [])
    run_main("datasets", "limits", "web", "--take-foreign")
    others.save(parquet(logs(2)), 2)
