"""Columns of words, attribute() and tables of signals: the same in KQL and SQL, in every door."""

import pytest

from kql.dataset_table import COMPUTED, FORMAT_COLUMNS, SIGNAL_COLUMNS, WORDS, dataset_table
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.signals import SIGNALS
from segplane.query.errors import QueryError
from segplane.read.rows.columns import ReadColumns
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import link_view

COUNTS = "summarize n = count() by severity | sort by severity asc"
SQL_COUNTS = (
    "SELECT coalesce(severity, '') AS severity, count(*) AS n FROM web.logs GROUP BY ALL ORDER BY 1"
)


@pytest.fixture
def written(segments: SegmentWriter) -> SegmentWriter:
    """Files of formats 1 and 2; the first have no words."""
    segments.write(rows=40, signals=SIGNALS, format_version=1)
    segments.write(rows=40, signals=SIGNALS, day=1)
    return segments


def test_the_words_and_the_columns_of_signals_are_those_of_the_format() -> None:
    numbers = {
        name: (source, {n: word for word, of in words.items() for n in of})
        for name, (source, words) in WORDS.items()
    }

    assert numbers == {c.name: (c.source, dict(c.words)) for c in READABLE_COLUMNS}
    assert set(SIGNAL_COLUMNS) == set(SIGNALS)
    for signal in SIGNALS:
        stored = set(ReadColumns((signal,), (), None).all.names)
        assert SIGNAL_COLUMNS[signal] - {"duration", "value"} == stored
    assert set(dataset_table("", has_words=True).columns) == {*FORMAT_COLUMNS, *COMPUTED}
    assert set(dataset_table("").columns) == set(FORMAT_COLUMNS)


@pytest.mark.long
def test_words_and_signals_are_alike_in_kql_and_sql(
    written: SegmentWriter, queries: QueryDriver
) -> None:
    counts = queries.rows(f"web.logs | {COUNTS}")

    assert sum(n for _, n in counts) == 80
    assert {word for word, _ in counts} <= {"", *WORDS["severity"][1]}
    assert len(counts) > 3
    assert queries.rows(SQL_COUNTS) == counts
    assert queries.rows(f"web | where signal == 'logs' | {COUNTS}") == counts
    for name, signal in (("span_kind", "traces"), ("span_status", "traces"),
                         ("temporality", "metrics")):  # fmt: skip
        kql = queries.rows(f"web.{signal} | summarize n = count() by {name} | sort by {name} asc")
        sql = queries.rows(
            f"SELECT coalesce({name}, '') AS w, count(*) FROM web.{signal} GROUP BY w ORDER BY w"  # noqa: S608
        )
        assert kql == sql
    user = queries.rows("web.logs | where attribute(attributes, 'user.id') == 'u1' | count")
    attribute = "SELECT count(*) FROM web.logs WHERE attribute(attributes, 'user.id') = 'u1'"
    assert queries.rows(attribute) == user


def test_a_table_of_a_signal_has_its_columns_and_reads_no_others(
    written: SegmentWriter, queries: QueryDriver
) -> None:
    table = queries.run(queries.plan("SELECT * FROM web.traces"), lambda q: q.reader().read_all())
    kql = queries.run(queries.plan("web.traces"), lambda q: q.reader().read_all())

    assert table.num_rows == kql.num_rows == 80
    assert set(table.schema.names) == SIGNAL_COLUMNS["traces"] - {"duration"}
    assert set(kql.schema.names) == SIGNAL_COLUMNS["traces"]
    assert set(queries.plan("web.logs | project severity").reads[0].columns) == {
        "signal", "severity_number",
    }  # fmt: skip
    joined = "SELECT (SELECT count(*) FROM web.logs) AS l, count(*) AS t FROM web.traces"
    assert queries.rows(joined) == [(80, 80)]
    narrow = queries.plan("SELECT body FROM web.logs WHERE timestamp < TIMESTAMPTZ '1990-01-01'")
    assert narrow.reads[0].times.high is not None
    assert queries.rows("WITH logs AS (SELECT 1 AS n) SELECT n FROM logs") == [(1,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM web.spans", "there are web.logs, web.metrics, web.traces"),
        ("SELECT * FROM wbe.logs", "did you mean 'web'?"),
        ("SELECT * FROM shown.logs", "'shown' is a view: only datasets have tables of signals"),
        ("SELECT * FROM memory.web.logs", "has a catalog"),
        ("web.spans | count", "there is no dataset or view 'web.spans'"),
    ],
)
def test_other_tables_are_refused(
    segments: SegmentWriter, queries: QueryDriver, text: str, message: str
) -> None:
    link_view(queries.client, segments.dataset, "shown", "project body")

    with pytest.raises(QueryError, match=message):
        queries.rows(text)


def test_a_link_may_name_words_and_yields_what_it_did(
    written: SegmentWriter, queries: QueryDriver
) -> None:
    link_view(queries.client, written.dataset, "all", "where signal == 'logs'")
    counts = dict(queries.rows(f"web.logs | {COUNTS}"))
    word = max(filter(None, counts))
    link_view(
        queries.client, written.dataset, "errors", f"where severity == '{word}' | project severity"
    )

    everything = queries.run(queries.plan("all"), lambda q: q.reader().read_all())

    assert everything.schema.names == list(FORMAT_COLUMNS)
    assert queries.rows("errors | count") == [(counts[word],)]
    assert queries.rows("SELECT DISTINCT severity FROM errors") == [(word,)]
    # A view without the number has no word either.
    with pytest.raises(QueryError, match="there is no column 'span_kind'"):
        queries.rows("errors | project span_kind")
