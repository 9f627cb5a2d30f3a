"""Warnings of comparisons with words that no record has."""

import pytest

from kql.dataset_table import STORED_WORDS
from kql.pushdown.stored_words import WARNINGS_MAX
from segplane.query.errors import QueryWarning
from segplane.query.sql.sql_session import SqlSession
from segplane.read import open_dataset
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import link_view

STORED = "no record has the severity 'error', it is stored as 'ERROR': "
KQL, SQL = (
    "write severity =~ 'error'",
    "write severity = 'ERROR', which is severity =~ 'error' in KQL",
)
NOT_STORED = (
    "no record has the severity 'warning': its words are TRACE, DEBUG, INFO, WARN, ERROR, FATAL"
)


WARNED = [
    ("web | where severity == 'error' | count", STORED + KQL),
    ("web | where severity != 'error' | count", STORED + "write severity !~ 'error'"),
    ("web | where severity in ('ERROR', 'error')", STORED + "write severity in~ ('error')"),
    ("web | where severity == 'warning'", NOT_STORED),
    ("web.logs | summarize n = countif(severity == 'error')", STORED + KQL),
    ("web | summarize n = count() by severity | where severity == 'error'", STORED + KQL),
    ("web | project s = severity | where s == 'error' | count",
     "no record has the s 'error', it is stored as 'ERROR': write s =~ 'error'"),
    ("web | extend bad = iff(severity == 'error', 1, 0) | summarize sum(bad)", STORED + KQL),
    ("union web.logs, web.traces | where severity == 'error'", STORED + KQL),
    ("web | join kind=inner (web | project trace_id, w = severity) on trace_id"
     " | where w == 'error'",
     "no record has the w 'error', it is stored as 'ERROR': write w =~ 'error'"),
    ("shown | where severity == 'error'", STORED + KQL),
    ("SELECT count(*) FROM web WHERE severity = 'error'", STORED + SQL),
    ("SELECT count(*) FROM web.logs AS l WHERE 'error' <> l.Severity", STORED + SQL),
    ("SELECT count(*) FILTER (WHERE severity IN ('ERROR', 'error')) FROM web", STORED + SQL),
    ("SELECT severity FROM shown WHERE severity LIKE 'error'", STORED + SQL),
    ("SELECT count(*) FROM web WHERE severity = 'warning'", NOT_STORED),
    ("web | where signal == 'Logs'",
     "no record has the signal 'Logs', it is stored as 'logs': write signal =~ 'Logs'"),
]  # fmt: skip


def test_a_word_that_no_record_has_is_warned_of(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    link_view(queries.client, segments.dataset, "shown", "project severity, body")

    for query, warning in WARNED:
        assert queries.plan(query).warnings == (warning,), query


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "query",
    [
        "web | where severity == 'ERROR' | count",
        "web | where severity =~ 'error' or severity in~ ('warn') | count",
        "web | where severity == '' | count",
        "web | where severity_text == 'error' or service_name == 'error' | count",
        "web | extend severity = tolower(severity) | where severity == 'error' | count",
        "web | where severity == body | count",
        "datatable(severity:string)['error'] | where severity == 'error'",
        "SELECT count(*) FROM web WHERE severity = 'ERROR' OR lower(severity) = 'error'",
        "SELECT count(*) FROM web WHERE severity ILIKE 'error' OR severity LIKE 'err%'",
        "SELECT severity_text AS severity FROM web GROUP BY ALL HAVING severity = 'error'",
        "SELECT count(*) FROM web WHERE severity_text = 'error'",
    ],
)
def test_other_comparisons_have_no_warning(
    segments: SegmentWriter, queries: QueryDriver, query: str
) -> None:
    assert queries.plan(query).warnings == ()


def test_every_stored_word_is_compared_without_a_warning(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    for column, words in STORED_WORDS.items():
        for word in words:
            small, large = word.lower(), word.upper()
            other = small if small != word else large
            assert not queries.plan(f"web | where {column} == '{word}'").warnings
            assert queries.plan(f"web | where {column} == '{other}'").warnings


@pytest.mark.parametrize(("count", "kept"), [(WARNINGS_MAX, 5), (WARNINGS_MAX + 1, 5)])
def test_few_warnings_are_kept(
    segments: SegmentWriter, queries: QueryDriver, count: int, kept: int
) -> None:
    words = [f"x{n}" * 30 for n in range(count)]
    query = "web | where " + " or ".join(f"severity == '{word}'" for word in words)

    warnings = queries.plan(query).warnings

    assert len(warnings) == kept
    assert all(len(warning) < 150 for warning in warnings)


def test_the_sql_shell_warns_too(segments: SegmentWriter, queries: QueryDriver) -> None:
    session = SqlSession(
        lambda: ["web"], lambda name: open_dataset(name, meta_address=queries.address)
    )

    with (
        pytest.warns(QueryWarning, match="stored as 'ERROR'"),
        session.query("SELECT count(*) FROM web WHERE severity = 'error'") as result,
    ):
        assert result.reader.read_all().num_rows == 1
    session.close()
