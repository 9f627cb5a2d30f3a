"""Warnings about a query itself, in the header of its answer and on standard error."""

import json
import sys
import warnings

import pytest

from segplane.__main__ import main
from segplane.gateway.queries.broker import WARNINGS_BYTES_MAX
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer


@pytest.mark.parametrize(
    "query",
    [
        "web | where severity == 'error' | count",
        "SELECT count(*) AS n FROM web WHERE severity = 'error'",
    ],
)
def test_a_word_that_no_record_has_is_warned_of_over_http(
    gateway: GatewayServer, segments: SegmentWriter, query: str
) -> None:
    segments.write(rows=20)

    answer = gateway.query(query)

    assert list(answer.json[0].values()) == [0]
    (warning,) = json.loads(answer.headers["segplane-warnings"])
    assert "'ERROR'" in warning
    assert "severity =~ 'error'" in warning


def test_kusto_clients_are_warned_too_and_right_queries_are_not(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=20)
    csl = "web | where severity == 'error' | count"

    kusto = gateway.post("v2/rest/query", {"db": "segplane", "csl": csl})
    right = gateway.query("web | where severity == 'ERROR' | count")

    assert len(json.loads(kusto.headers["segplane-warnings"])) == 1
    assert "segplane-warnings" not in right.headers


def test_long_words_do_not_make_a_long_header(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=20)
    words = ", ".join(f"'{chr(0x1F600 + n) * 1_000}'" for n in range(20))

    answer = gateway.query(f"web | where severity in ({words}) | count")

    header = answer.headers["segplane-warnings"]
    assert 0 < len(json.loads(header)) <= 5
    assert len(header) <= WARNINGS_BYTES_MAX


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "web | where severity == 'error' | count"),
        ("query", "SELECT count(*) AS n FROM web WHERE severity = 'error'"),
        ("sql", "-c", "SELECT count(*) AS n FROM web WHERE severity = 'error'"),
    ],
)
def test_the_command_line_warns_in_one_line(
    meta_server: MetaServer,
    segments: SegmentWriter,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    segments.write(rows=2)
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    monkeypatch.setattr(sys, "argv", ["segplane", *arguments])
    capsys.readouterr()

    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: no record has the severity 'error'")
    assert "severity =~ 'error'" in line
