"""Exports of OTLP/JSON of which nothing is read, and members that no schema knows."""

import json
from typing import Any
from urllib.request import urlopen

import pytest

from collector.otlp.json import to_protobuf
from collector.otlp.partial_success import json_answer
from collector.refusal import Refused
from segments.signals import Signal
from tests.support.collector.ground import Ground
from tests.support.collector.http import post
from tests.support.collector.process import StartCollector


def logs(*records: Any) -> bytes:
    tree = {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}
    return json.dumps(tree).encode()


def spans(*records: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(records)}]}]}).encode()


@pytest.mark.parametrize(
    ("signal", "tree", "told"),
    [
        ("logs", json.loads(spans({})), "send resourceSpans to /v1/traces"),
        ("traces", json.loads(logs({})), "send resourceLogs to /v1/logs"),
        ("metrics", {"resource_logs": []}, "send resourceLogs to /v1/logs"),
        ("logs", {"data": json.loads(logs({}))}, 'found "data", expected resourceLogs'),
        ("logs", {"ResourceLogs": []}, 'found "ResourceLogs"'),
        (
            "logs",
            {"resourceLogs": [{"instrumentationLibraryLogs": [{"logs": [{}]}]}]},
            'resourceLogs[0]: "instrumentationLibraryLogs" is unknown, did you mean scopeLogs?',
        ),
        ("logs", {"resourceLogs": [], "resourceSpans": []}, "did you mean an export to /v1/traces"),
    ],
)
def test_an_export_of_which_nothing_is_read_is_refused(
    signal: Signal, tree: Any, told: str
) -> None:
    with pytest.raises(Refused) as refused:
        to_protobuf(signal, json.dumps(tree).encode())

    assert told in refused.value.refusal.message


@pytest.mark.parametrize(
    "tree",
    [{}, {"resourceLogs": []}, {"resourceLogs": None}, {"resourceLogs": [{"scopeLogs": []}]}],
    ids=repr,
)
def test_an_empty_export_is_a_success(tree: Any) -> None:
    converted = to_protobuf("logs", json.dumps(tree).encode())

    assert json_answer("logs", converted) == b"{}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("severity-number", "severityNumber"),
        ("SeverityNumber", "severityNumber"),
        ("timeunixnano", "timeUnixNano"),
        ("name", "eventName"),
    ],
)
def test_a_misspelt_member_is_ignored_counted_and_told(name: str, meant: str) -> None:
    converted = to_protobuf("logs", logs({}, {name: 1}, {name: 1, "entirelyNew": {"a": [1]}}))

    assert converted.num_rejected == 0
    assert converted.num_unknown == 3
    place = "resourceLogs[0].scopeLogs[0].logRecords[1]"
    assert converted.spelling == f'{place}: "{name}" is unknown, did you mean {meant}?'


def test_a_member_of_a_later_schema_is_ignored_without_a_word() -> None:
    converted = to_protobuf("logs", logs({"entirelyNew": "x", "y" * 10_000: 1}))

    assert (converted.num_unknown, converted.spelling) == (2, "")


def test_a_sender_is_warned_of_a_misspelt_member_once_a_minute(
    ground: Ground, start_collector: StartCollector, free_tcp_port: int
) -> None:
    collector = start_collector(COLLECTOR_METRICS_PORT=str(free_tcp_port))
    headers = {
        "Authorization": f"Bearer {ground.new_token().token_secret}",
        "Content-Type": "application/json",
    }

    first, second = (
        post(collector, logs({"bodyy": 1, "Body": 2, "flags": number}), headers).body.decode()
        for number in range(2)
    )

    told = json.loads(first)["partialSuccess"]
    assert list(told) == ["errorMessage"]
    assert told["errorMessage"].endswith('"Body" is unknown, did you mean body?')
    assert second == "{}"
    page = urlopen(f"http://127.0.0.1:{free_tcp_port}/metrics", timeout=5).read().decode()
    assert 'segplane_collector_unknown_members_total{signal="logs"} 4.0' in page
