"""The commands that read: preview, read and sql, against a real meta and real files."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.signals import SIGNALS
from segplane.query.results.row_files import FORMATS
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer
from tests.support.reading import rows_as_read, rows_as_written


@pytest.fixture
def segments(run: RunCommand, meta_server: MetaServer, tmp_path: Path) -> SegmentWriter:
    dataset = CatalogDriver(meta_server.client).dataset("web-1")
    return SegmentWriter(meta_server.client, dataset, tmp_path)


def test_preview_shows_the_newest_records_of_each_signal(
    run: RunCommand, segments: SegmentWriter
) -> None:
    segments.write(signals=SIGNALS)
    segments.write(day=1, signals=("logs",), format_version=1)
    newest = [
        (time, signal)
        for signal in SIGNALS
        for time in sorted((time for name, time in segments.rows if name == signal))[-3:][::-1]
    ]

    table = run("datasets", "preview", "web-1", "--limit", "3")
    listed = json.loads(run("datasets", "preview", "web-1", "--limit", "3", "--json").stdout)
    spans = json.loads(run("datasets", "preview", "web-1", "--signal", "traces", "--json").stdout)

    assert len(table.stdout.splitlines()) == 1 + 9
    assert [row["signal"] for row in listed] == [signal for _, signal in newest]
    assert [row["timestamp_nanos"] for row in listed] == [time % 1000 for time, _ in newest]
    assert len(spans) == 10
    assert {row["signal"] for row in spans} == {"traces"}
    assert None not in spans[0].values()


def test_preview_of_an_empty_dataset_is_an_empty_list(
    run: RunCommand, segments: SegmentWriter
) -> None:
    assert json.loads(run("datasets", "preview", "web-1", "--json").stdout) == []
    assert run("datasets", "preview", "web-1").exit_code == 0


def test_read_writes_the_format_that_the_name_of_the_file_says(
    run: RunCommand, segments: SegmentWriter, tmp_path: Path
) -> None:
    segments.write(rows=3)

    for name in ("a.csv", "a.CSV", "a.jsonl", "a.json", "a.parquet", "rows"):
        assert run("read", "web-1", "--output", str(tmp_path / name)).exit_code == 0
    for name, file_format in (("b.txt", ""), ("b.csv", "parquet"), ("b.csv.gz", "")):
        options = ("--format", file_format) if file_format else ()
        done = run("read", "web-1", "--output", str(tmp_path / name), *options)
        assert done.exit_code == 2
        assert name in done.stderr

    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "a.CSV").read_bytes()
    assert len(list(csv.DictReader((tmp_path / "a.csv").open(newline="")))) == 3
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    assert pq.read_table(tmp_path / "rows").equals(pq.read_table(tmp_path / "a.parquet"))
    assert list(tmp_path.glob("b*")) == []


@pytest.mark.parametrize("file_format", FORMATS)
def test_read_writes_a_file(
    run: RunCommand, segments: SegmentWriter, tmp_path: Path, file_format: str
) -> None:
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=SIGNALS)
    path = tmp_path / "rows"

    done = run("read", "web-1", "--format", file_format, "--output", str(path))

    assert done.exit_code == 0, done.stderr
    assert "120 records of web-1 at version" in done.stderr
    assert list(tmp_path.glob(".rows*")) == []
    if file_format == "parquet":
        assert rows_as_read(pq.read_table(path)) == rows_as_written(segments.sections)
    elif file_format == "arrow":
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            assert rows_as_read(stream.read_all()) == rows_as_written(segments.sections)
    else:
        lines = path.open(newline="")
        rows = list(csv.DictReader(lines) if file_format == "csv" else map(json.loads, lines))
        assert len(rows) == 120
        times = sorted(
            f"{time // 1000 * 1000}{time % 1000}" for time in (int(t) for _, t in segments.rows)
        )
        read = sorted(
            f"{_micros(row['timestamp']) * 1000}{int(row['timestamp_nanos'])}" for row in rows
        )
        assert read == times
        assert rows[0]["attributes"] is None or rows[0]["attributes"][:1] in ("{", "")


def _micros(text: str) -> int:
    from datetime import UTC, datetime, timedelta

    return (datetime.fromisoformat(text) - datetime.fromtimestamp(0, UTC)) // timedelta(
        microseconds=1
    )


def test_read_takes_bounds_and_columns(
    run: RunCommand, segments: SegmentWriter, tmp_path: Path
) -> None:
    segments.write()
    segments.write(day=1)
    arguments = ("--signal", "logs", "--start", "2100-01-01", "--columns", "body, severity")

    none = run("read", "web-1", "--format", "json", "--output", "-", *arguments)
    refused = run("read", "web-1", "--output", str(tmp_path / "x"), "--columns", "boddy")
    wrong = run("read", "web-1", "--output", str(tmp_path / "x"), "--format", "xml")

    assert none.stdout == ""
    assert refused.exit_code == 1
    assert refused.stderr == "error: there is no column 'boddy': did you mean 'body'?\n"
    assert wrong.exit_code == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.long
def test_sql_has_a_view_for_each_dataset_and_signal(
    run: RunCommand, segments: SegmentWriter
) -> None:
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=("logs",))

    def rows(statement: str) -> object:
        done = run("sql", "-c", statement, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    assert rows('SELECT count(*) AS n FROM "web-1"') == [{"n": 80}]
    joined = 'SELECT (SELECT count(*) FROM "web-1".logs) AS l, count(*) AS t FROM "web-1".traces'
    assert rows(joined) == [{"l": 40, "t": 20}]
    later = 'SELECT count(*) AS n FROM "web-1".logs WHERE epoch_us(timestamp) >= '
    later += str((EPOCH + DAY) // 1000)
    assert rows(later) == [{"n": 20}]
    attributes = """SELECT DISTINCT attribute(attributes, 'user.id') AS u FROM "web-1" ORDER BY u"""
    users = {row["u"] for row in rows(attributes)} - {None}  # type: ignore[attr-defined]
    # Of five, drawn at random.
    assert len(users) >= 2
    assert users <= {f"u{number}" for number in range(5)}
    assert rows('DESCRIBE "web-1".metrics')
    table = run("sql", "-c", 'FROM "web-1".logs SELECT signal LIMIT 2')
    assert table.stdout.splitlines() == ["SIGNAL", "logs", "logs"]


def test_as_of_takes_a_version_or_a_time_in_every_command(
    run: RunCommand, segments: SegmentWriter, tmp_path: Path
) -> None:
    segments.write()
    first = run("read", "web-1", "--output", str(tmp_path / "first"), "--format", "csv")
    version = first.stderr.split()[-1]
    then = datetime.now(UTC).isoformat()
    segments.write()
    count = 'SELECT count(*) AS n FROM "web-1"'

    for moment in (version, then):
        asked = run("query", "--sql", count, "--format", "json", "--as-of", moment)
        assert json.loads(asked.stdout[asked.stdout.index("[\n") :]) == [{"n": 20}]
        asked = run("sql", "-c", count, "--json", "--as-of", moment)
        assert json.loads(asked.stdout) == [{"n": 20}]
        found = run("segments", "find", "--dataset", "web-1", "--as-of", moment, "--urls")
        assert len(found.stdout.splitlines()) == 1, found.output
        out = str(tmp_path / moment)
        read = run("read", "web-1", "--output", out, "--format", "csv", "--as-of", moment)
        assert read.stderr.startswith("20 records"), read.stderr
    for command in (("query", "web"), ("sql", "-c", "SELECT 1"), ("segments", "find")):
        refused = run(*command, "--as-of", "yesterday")
        assert (refused.exit_code, "as_of" in refused.stderr) == (2, True), refused.stderr
    alone = run("segments", "find", "--as-of", "1h")
    assert (alone.exit_code, "needs --dataset" in alone.stderr) == (2, True)


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("CREATE TABLE t (a INTEGER)", "only queries are possible"),
        ("DROP VIEW x", "only queries are possible"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "only queries are possible"),
        ("SELECT * FROM '/etc/passwd'", "/etc/passwd does not exist"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT 1; SELECT 2", "expected one statement, found 2"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nothing", "nothing does not exist"),
        ("", "expected one statement, found 0"),
    ],
)
def test_sql_refuses_in_a_line(run: RunCommand, statement: str, sentence: str) -> None:
    done = run("sql", "-c", statement)

    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), 2, "--token or SEGPLANE_INGEST_TOKEN is needed"),
        (("--token", "t", "--endpoint", "localhost"), 1, "is not an http:// or https:// address"),
        (("--token", "t", "--count", "0"), 2, "'--count'"),
    ],
)
def test_test_send_refuses_in_a_line(
    run: RunCommand, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    done = run("test-send", *arguments)

    assert done.exit_code == code
    assert sentence in done.stderr


def test_the_help_of_test_send_names_the_address_that_it_takes(run: RunCommand) -> None:
    shown = " ".join(run("test-send", "--help").stdout.split())

    assert "OTLP/HTTP address of a collector" in shown
    assert "OtlpTarget" not in shown


@pytest.mark.long
def test_an_unreachable_meta_has_its_own_exit_code(run: RunCommand) -> None:
    for command in (
        ("sql", "-c", "SELECT 1"),
        ("read", "web", "--output", "-"),
        ("datasets", "preview", "web"),
    ):
        done = run(*command, "--meta-address", "127.0.0.1:1")
        assert done.exit_code == 3, command
