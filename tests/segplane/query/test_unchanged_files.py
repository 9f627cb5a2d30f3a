"""A query changes no file: not those of its datasets, and no others."""

# ruff: noqa: S608

import hashlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter

Listing = dict[str, tuple[int, str]]


def listing(folder: Path) -> Listing:
    """Return the time of change and the digest of every file below a folder."""
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_no_statement_changes_a_file(
    segments: SegmentWriter,
    queries: QueryDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    segments.write(rows=3)
    segments.write(rows=3, format_version=1)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(here))
    before = listing(tmp_path)
    segment = next(path for path in before if "/merged/" in path)
    harmless = ["web | count", "SELECT count(*) FROM web", "web | where body != '' | take 1"]
    hostile = [
        f"COPY (SELECT 1) TO '{segment}'",
        f"COPY web TO '{here}/copy.parquet' (FORMAT parquet)",
        f"WITH t AS (SELECT 1) COPY t TO '{segment}'",
        f"SELECT * FROM (COPY (SELECT 1) TO '{segment}')",
        "DELETE FROM web",
        "WITH t AS (SELECT 1) INSERT INTO web SELECT * FROM t",
        "UPDATE web SET body = ''",
        "DROP TABLE web",
        "CREATE TABLE kept AS SELECT * FROM web",
        f"EXPORT DATABASE '{here}'",
        f"ATTACH '{here}/own.db'",
        f"SELECT 1; ATTACH '{segment}'",
        f"SET temp_directory = '{here}'",
        "INSTALL httpfs",
        f"SELECT write_log('x'), pragma_database_size() FROM read_text('{segment}')",
        ".drop table web",
        ".set-or-replace web <| print 1",
        f"web | export to csv ('{segment}')",
        f"externaldata (a: string) ['{segment}'] | count",
    ]

    def ask(*arguments: str) -> int:
        environment = {"SEGPLANE_META_ADDRESS": queries.address}
        return CliRunner().invoke(app, ["query", *arguments], env=environment).exit_code

    answered = [ask(text) for text in harmless]
    refused = [ask(text) for text in hostile]
    over_a_segment = ask("web | count", "--format", "csv", "--output", segment)

    assert len(before) >= 2
    assert answered == [0] * len(harmless)
    assert dict(zip(hostile, refused, strict=True)) == dict.fromkeys(hostile, 1)
    assert over_a_segment == 2
    assert listing(tmp_path) == before
