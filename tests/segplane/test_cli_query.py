"""segplane query: formats, explanations, refusals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from benchmarks.harness.processes import cpu_seconds
from meta.v1 import operations_pb2
from segplane.__main__ import app
from tests.segplane.query.conftest import segments as segments
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

SPAN = "web | take 1 | project n = 1, text = 'a,\"b', wait = 90s, d = dynamic([1]), empty = ''"


def test_a_result_has_the_format_that_is_asked_for(
    segments: SegmentWriter, run: RunCommand, tmp_path: Path
) -> None:
    segments.write(rows=2)

    table = run("query", SPAN).stdout
    csv = run("query", SPAN, "--format", "csv").stdout
    objects = json.loads(run("query", SPAN, "--format", "json").stdout)
    for name in ("arrow", "parquet"):
        run("query", SPAN, "--format", name, "--output", str(tmp_path / name))
    stream = pa.ipc.open_stream((tmp_path / "arrow").read_bytes()).read_all()

    assert table.splitlines()[0].split() == ["N", "TEXT", "WAIT", "D", "EMPTY"]
    assert csv == 'n,text,wait,d,empty\n1,"a,""b",00:01:30,[1],\n'
    assert objects == [{"n": 1, "text": 'a,"b', "wait": "00:01:30", "d": [1], "empty": ""}]
    assert stream.schema.field("wait").type == pa.duration("ns")
    assert stream == pq.read_table(tmp_path / "parquet")
    assert stream["wait"].cast(pa.int64()).to_pylist() == [90 * 10**9]


def test_an_explanation_says_what_is_read_and_why_no_less(
    segments: SegmentWriter, run: RunCommand
) -> None:
    for day in range(3):
        segments.write(day=day)
    segments.write(day=1, format_version=1)
    seconds = (EPOCH + DAY) // 10**9
    start = f"datetime(1970-01-01) + {seconds} * 1s"

    narrow = run("query", f"web | where timestamp == {start} | project body", "--explain").stdout
    wide = run("query", "web | take 5 | project body", "--explain").stdout

    assert "files       2 with 40 rows" in narrow
    assert "row groups  1 of 1 by time" in narrow
    assert "1 files by Parquet's filters: they are of format 1" in narrow
    assert "SELECT" in narrow
    assert "columns     body, timestamp" in narrow or "columns     timestamp, body" in narrow
    assert "files       4 with 80 rows" in wide
    assert "not pruned  by time: no condition on timestamp" in wide


def test_a_refusal_is_one_line_and_a_caret(segments: SegmentWriter, run: RunCommand) -> None:
    segments.write(rows=1)

    refused = run("query", "web\n| where bodi == 'x'")

    assert refused.exit_code == 1
    assert refused.stderr.splitlines() == [
        "error: 2:9: there is no column 'bodi'; did you mean 'body'?",
        "| where bodi == 'x'",
        "        ^",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "xml"), "--format is 'xml', not one of table, json, csv, arrow, parquet"),
        (("--kql", "--sql"), "--kql and --sql exclude one another"),
        (("--start", "soon"), "start: "),
        (("--start", "1h", "--end", "2h"), "is not before end"),
    ],
)
def test_wrong_options_are_refused(run: RunCommand, arguments: list[str], message: str) -> None:
    refused = run("query", "web | count", *arguments)

    assert message in refused.stderr
    assert refused.exit_code == 2


def test_a_table_is_cut_at_its_limit_and_says_so(segments: SegmentWriter, run: RunCommand) -> None:
    segments.write(rows=5)

    cut = run("query", "web | project signal", "--max-rows", "4")
    whole = run("query", "SELECT signal FROM web", "--max-rows", "5")

    assert len(cut.stdout.splitlines()) == 5
    assert "the first 4 rows, there are more" in cut.stderr
    assert len(whole.stdout.splitlines()) == 6
    assert not whole.stderr


def test_a_query_writes_over_no_file(
    segments: SegmentWriter, run: RunCommand, tmp_path: Path
) -> None:
    segments.write(rows=1)
    taken = tmp_path / "taken"
    taken.write_text("mine")

    refused = run("query", "web | count", "--format", "csv", "--output", str(taken))
    failed = run(
        "query", "SELECT nope FROM web", "--format", "csv", "--output", str(tmp_path / "x")
    )

    assert "exists: name a new file" in refused.stderr
    assert "Binder Error" in failed.stderr
    assert not (tmp_path / "x").exists()
    assert taken.read_text() == "mine"


def test_queries_at_a_prompt_are_answered_one_by_one(
    segments: SegmentWriter,
    meta_server: MetaServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    segments.write(rows=3)
    monkeypatch.setenv("HOME", str(tmp_path))
    typed = "web | count;\nweb\n| where bodi == 1\n\nlet x = 2;\nprint y = x + 5;\nexit\n"

    answer = CliRunner().invoke(
        app, ["query"], input=typed, env={"SEGPLANE_META_ADDRESS": meta_server.address}
    )

    assert answer.exit_code == 0
    figures = map(str.strip, answer.stdout.splitlines())
    assert [figure for figure in figures if figure.isdigit()] == ["3", "7"]
    assert "error: 2:9: there is no column 'bodi'" in answer.stderr
    assert "        ^" in answer.stderr


@pytest.mark.long
def test_an_interrupt_ends_a_query_at_once(
    segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=300)
    endless = (
        "SELECT count(*) FROM web, range(1_000_000_000_000) AS numbers(number)"
        " WHERE md5(body || number) = body"
    )
    arguments = [sys.executable, "-m", "segplane", "query", endless]
    environment = {**os.environ, "SEGPLANE_META_ADDRESS": meta_server.address}
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True) as process:
        pins = operations_pb2.ListPinsRequest()
        try:
            wait_until(
                lambda: bool(meta_server.client.operations.ListPins(pins).pins), "a pinned version"
            )
            # Its reply is on the way. The query begins with it, and never ends.
            busy_secs = cpu_seconds(process.pid) + 1.0
            wait_until(lambda: cpu_seconds(process.pid) > busy_secs, "a query that runs")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        finally:
            process.kill()

    assert process.returncode == 1
    assert stderr == "error: the query was interrupted\n"
    assert not meta_server.client.operations.ListPins(pins).pins


def test_a_table_of_many_columns_shows_those_with_values_first_things_first(
    segments: SegmentWriter, run: RunCommand
) -> None:
    segments.write(rows=60)

    shown = run("query", "web | where signal == 'logs' | take 60")
    chosen = run("query", "web | take 1 | project end_timestamp, body")

    names = shown.stdout.splitlines()[0].split()
    assert names[:2] == ["TIMESTAMP", "SIGNAL"]
    assert "END_TIMESTAMP" not in names
    assert names.index("BODY") < names.index("ATTRIBUTES") < names.index("TIMESTAMP_NANOS")
    assert "columns have values in these rows: --format json or csv shows all" in shown.stderr
    # Columns that a query names stay, whatever they hold.
    assert chosen.stdout.splitlines()[0].split() == ["END_TIMESTAMP", "BODY"]
