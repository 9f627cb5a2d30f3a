"""Queries that cannot be run, that take too much, and that want more than their tables."""

# ruff: noqa: S608

from pathlib import Path

import pytest

from segplane.query.engine import QueryLimits, RunningQuery
from segplane.query.errors import QueryError, QueryStopped
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter

# Queries, and a part of what is said.
REFUSED = (
    ("wbe | count", "1:1: there is no dataset or view 'wbe'; did you mean 'web'?"),
    ("SELECT * FROM wbe", "there is no dataset or view 'wbe': did you mean 'web'?"),
    ("web | where bodi == ''", "1:13: there is no column 'bodi'; did you mean 'body'?"),
    ("SELECT 1; SELECT 2", "a query is one SELECT"),
    ("WITH x AS (SELECT 1) DELETE FROM web", "a query is one SELECT"),
    ("SELECT * FROM read_csv('/etc/passwd')", "gives no table here"),
    ("SELECT * FROM '/etc/passwd'", "no dataset or view '/etc/passwd'"),
    ("SELECT * FROM glob('/*')", "gives no table here"),
    ("SELECT getenv('HOME')", "'getenv' is not available"),
    ("SELECT * FROM other.web", "there is no dataset or view 'other'"),
    ("SELECT bodi FROM web", 'the query failed: Binder Error: Referenced column "bodi"'),
    ("select from where", "this is not SQL"),
    ("select * from default.logs", 'default needs double quotes: write "default".logs'),
    ("SELECT a FROM web JOIN shop/eu-1 USING (b)", 'double quotes: write "shop/eu-1".'),
    ("SELECT '" + "x" * 70_000 + "'", "has 70,009 characters: at most 65,536"),
    ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, "this is not SQL"),
    ("\n" * 1_000_000, "the text has 1,000,000 characters"),
)


def test_what_cannot_be_asked_is_said_in_one_line(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    segments.write(rows=1)
    for text, message in REFUSED:
        with pytest.raises(QueryError) as refused:
            queries.rows(text)

        assert message in str(refused.value)
        assert "\n" not in str(refused.value)


def test_no_statement_changes_or_reads_another_file(
    segments: SegmentWriter, queries: QueryDriver, tmp_path: Path
) -> None:
    segments.write(rows=2)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")

    def attempt(query: RunningQuery) -> None:
        segment = Path(query.sources[0].direct[0].url)
        before = segment.read_bytes()
        for statement in (
            f"SELECT * FROM read_csv('{other}')",
            "SELECT * FROM read_text('/proc/self/environ')",
            "SET enable_external_access = true",
            "SET memory_limit = '1TB'",
            "INSTALL httpfs",
            f"ATTACH '{tmp_path}/x.db'",
            f"SELECT * FROM glob('{tmp_path}/*')",
        ):
            with pytest.raises(QueryError):
                query.rows(statement)
        assert segment.read_bytes() == before

    queries.run(queries.plan("web | where body != '' | count"), attempt)


def test_a_runaway_query_is_stopped(segments: SegmentWriter, queries: QueryDriver) -> None:
    segments.write(rows=200)
    tables = "web a, web b, web c, web d, web e"
    endless = f"SELECT count(*) FROM {tables} WHERE a.body || b.body || e.body = c.body || d.body"
    large = f"SELECT list(a.body || b.body || c.body || d.body) FROM {tables}"

    with pytest.raises(QueryStopped, match=r"took longer than 1 s: ask for less"):
        queries.rows(endless, limits=QueryLimits(timeout_secs=1))
    with pytest.raises(QueryStopped, match="more memory than it is allowed"):
        queries.rows(large, limits=QueryLimits(memory_bytes=100 * 2**20, timeout_secs=100))

    assert queries.rows("web | count") == [(200,)]
