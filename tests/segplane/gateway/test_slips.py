"""The commonest slips with the hint that each gets, in every door to queries."""

import pytest
from azure.kusto.data import KustoClient, KustoConnectionStringBuilder
from azure.kusto.data.exceptions import KustoServiceError

from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

# What people write, and what they are told.
KQL: list[tuple[str, str]] = [
    ("web | where service_name = 'cart'", "write == to compare"),
    ("web | where body like '%x%'", "write contains 'x', startswith 'x'"),
    ("web | where body is null", "write isempty(x) of a text"),
    ("web | where body == null", "write isempty(x) of a text"),
    ("web | order by timestamp limit 5", "| take 5"),
    ("web | where body != '' && signal == 'logs'", "write and"),
    ("web | where signal == 'logs' || signal == 'traces'", "is written or"),
    ("wbe | count", "did you mean 'web'?"),
    ("web.spans | count", "there are web.logs, web.metrics, web.traces"),
    ("web-1 | count", "['web-1']"),
    ("web | where bodi == 'x'", "did you mean 'body'?"),
    ("web | where signal == logs", "a text stands in quotes: 'logs'"),
    ("web | where user.id == 'x'", "attributes['user.id']"),
    ("web | where attributes[user.id] == 'x'", "write attributes['key']"),
    ("web | select body", "write project a, b"),
    ("web | group by signal", "write summarize count() by x"),
    ("web | summarize count(*) group by signal", "write summarize count() by x"),
    ("web | summarize n = count() by signal | having n > 5", "write where behind summarize"),
    ("web | where not body == 'x'", "write not(x == 'y')"),
    ("web | where body not in ('a')", "write !in"),
    ("web | where body in 'a'", "write: x in ("),
    ("web | where !isempty(body)", "write not(isempty(...))"),
    ("web | where timestamp > '2026-01-01'", "write datetime(2026-01-31)"),
    ("web | where timestamp > ago('1h')", "a timespan has no quotes"),
    ("web | where timestamp > now() - interval '1 hour'", "now() - 1h"),
    ("web | where duration > 100", "n * 1ms"),
    ("web | where upper(body) == 'X'", "write toupper(x)"),
    ("web | where IsNotEmpty(body)", "did you mean 'isnotempty'?"),
    ("web | summarize p99(duration)", "write percentile(x, 99)"),
    ("web | extend x = case when body == '' then 1 else 2 end", "write case(condition, value"),
    ("web | WHERE body == 'x'", "written in lower case: where"),
    ("web where body == 'x'", "write '|' before where"),
    ("web | count()", "has no brackets"),
    ("web | top 5 timestamp", "write: top 10 by column desc"),
    ("web | take 5 by timestamp", "write top 5 by x"),
    ("web | where severity_number >= 'ERROR'", "the words of severity_number are severity"),
    ("web | where true == TRUE", "write true"),
]
# In SQL; "" where `segplane sql` has DuckDB's own words.
SQL: list[tuple[str, str, str]] = [
    ("SELECT * FROM wbe", "did you mean 'web'?", "did you mean 'web'?"),
    ("SELECT bodi FROM web", "did you mean 'body'?", "body"),
    ('SELECT * FROM web WHERE body = "x"', "texts have single quotes", ""),
    ("SELECT * FROM web.spans", "there are web.logs, web.metrics, web.traces", "spans"),
    ("SELECT * FROM web | take 5", "KQL, which begins with a table", ""),
    ("SELECT TOP 5 * FROM web", "Write LIMIT 5", ""),
    ("SELECT * FROM web WHERE timestamp > now() - 1h", "Write INTERVAL 1 HOUR", ""),
    ("SELECT * FROM web-1", '"web-1"', ""),
]


def test_there_are_at_least_thirty() -> None:
    assert len({text for text, _ in KQL}) >= 30


@pytest.mark.long
def test_a_slip_in_kql_gets_its_hint_in_each_door(
    gateway: GatewayServer, segments: SegmentWriter, run: RunCommand
) -> None:
    segments.write(rows=1)
    with KustoClient(KustoConnectionStringBuilder(gateway.server)) as client:
        for text, hint in KQL:
            command = run("query", text)
            answer = gateway.query(text)
            with pytest.raises(KustoServiceError) as refusal:
                client.execute("segplane", text)

            assert (command.exit_code, hint in command.stderr) == (1, True), command.stderr
            assert (answer.status, hint in answer.message) == (400, True), answer.message
            assert hint in str(refusal.value).replace('\\"', '"'), text


@pytest.mark.long
def test_a_slip_in_sql_gets_its_hint_in_each_door(
    gateway: GatewayServer, segments: SegmentWriter, run: RunCommand
) -> None:
    segments.write(rows=1)
    for text, hint, own_hint in SQL:
        command = run("query", "--sql", text)
        answer = gateway.query(text, language="sql")
        session = run("sql", "-c", text)

        assert (command.exit_code, hint in command.stderr) == (1, True), command.stderr
        assert (answer.status, hint in answer.message) == (400, True), answer.message
        assert (session.exit_code, own_hint in session.stderr) == (1, True), session.stderr
        assert session.stderr.count("\n") == 1
