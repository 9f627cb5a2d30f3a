"""The doors to queries answer alike: two commands, /v1/query and Kusto's endpoint."""

import json
from pathlib import Path

from azure.kusto.data import KustoClient, KustoConnectionStringBuilder

from segments.signals import SIGNALS
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

KQL = "web.logs | summarize n = count() by severity | sort by severity asc"
SQL = "SELECT coalesce(severity, '') AS severity, count(*) AS n FROM web.logs GROUP BY 1 ORDER BY 1"


def test_every_door_has_words_and_signals(
    gateway: GatewayServer, segments: SegmentWriter, run: RunCommand, tmp_path: Path
) -> None:
    segments.write(rows=40, signals=SIGNALS, format_version=1)
    segments.write(rows=40, signals=SIGNALS, day=1)
    answers = []
    for number, text in enumerate((KQL, SQL)):
        # The server of the test logs to the standard output.
        file = tmp_path / f"{number}.json"
        assert run("query", text, "--format", "json", "--output", str(file)).exit_code == 0
        answers.append(json.loads(file.read_text()))
    expected = answers[0]

    assert answers[1] == expected
    assert len(expected) > 3
    assert json.loads(run("sql", "-c", SQL, "--json").stdout) == expected
    assert gateway.query(KQL).json == expected
    assert gateway.query(SQL).json == expected
    with KustoClient(KustoConnectionStringBuilder(gateway.server)) as client:
        (table,) = client.execute("segplane", KQL).primary_results
        assert [row.to_dict() for row in table] == expected
