"""JSON records over HTTP beside the same records as OTLP/JSON: the CPU of one collector a record.

Both forms are sent to one collector in turn, in pairs, each request with its own body. The CPU
is that of the collector's processes, those that convert included, and so is everything until the
answer: a request is answered once its records are put and committed.
"""

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.harness.collectors import running_collector
from benchmarks.harness.processes import TreeClock
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest

RECORDS = 1_000
# Of each form in a round: more than the clock's hundredths of a second can blur.
REQUESTS = 10
PAIRS = 12
BAR = 0.9
_FIRST_SECS = 1_764_063_000
_PLANS = ("free", "team", "business")


def run() -> list[Result]:
    """Pairs of rounds; the median of their ratios."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            with server.client() as client:
                token = _token(client)
            with running_collector(server.address, COLLECTOR_CONVERSION_PROCESSES="1") as collector:
                sender = _Sender(collector.http_address, token)
                return [_measure(sender, TreeClock(collector.pid))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Sender:
    """Sends requests, none of which equals another."""

    def __init__(self, address: str, token: str) -> None:
        self._connection = HTTPConnection(address, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._sent = 0

    def send_records(self) -> None:
        """Send events as records."""
        self._send("/v1/datasets/bench/records", _as_records)

    def send_otlp(self) -> None:
        """Send events as log records of OTLP/JSON."""
        self._send("/v1/logs", _as_otlp)

    def _send(self, path: str, body_of: Callable[[list[dict[str, Any]]], dict[str, Any]]) -> None:
        for _ in range(REQUESTS):
            self._sent += 1
            body = json.dumps(body_of(_events(self._sent)), separators=(",", ":"))
            self._connection.request("POST", path, body, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text
            assert b'"rejected": 0' in text or b"partial" not in text, text


def _measure(sender: _Sender, clock: TreeClock) -> Result:
    costs: dict[str, list[float]] = {"records": [], "otlp": []}
    calls = {"records": sender.send_records, "otlp": sender.send_otlp}
    # The first round starts the processes that convert.
    for send in calls.values():
        send()
    for pair in range(PAIRS):
        for name, send in calls.items() if pair % 2 else reversed(calls.items()):
            began = clock()
            send()
            costs[name].append(1e6 * (clock() - began) / (REQUESTS * RECORDS))
    pairs = list(zip(costs["otlp"], costs["records"], strict=True))
    ratios = sorted(otlp / records for otlp, records in pairs)
    print(f"  ratios of pairs {ratios[0]:.3g} to {ratios[-1]:.3g}")
    return compare(
        "collector_json_records",
        1 / statistics.median(costs["records"]),
        1 / statistics.median(costs["otlp"]),
        reference_name="the same records as OTLP/JSON",
        unit="records a microsecond of the collector's CPU",
        bar=BAR,
    )


def _events(request: int) -> list[dict[str, Any]]:
    return [
        {
            "timestamp": (_FIRST_SECS + request) * 10**9 + number,
            "id": f"{request:08}-{number:08}",
            "event": "checkout",
            "user": f"user-{number * 7919 % 5_000}",
            "plan": _PLANS[number % len(_PLANS)],
            "amount_cents": number * 104_729 % 100_000,
            "is_first": number % 9 == 0,
            "page": f"/shop/items/{number * 31 % 997}/pay",
        }
        for number in range(RECORDS)
    ]


def _as_records(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {"records": [{**event, "timestamp": _rfc_3339(event["timestamp"])} for event in events]}


def _rfc_3339(nanos: int) -> str:
    time = datetime.fromtimestamp(nanos // 10**9, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{nanos % 10**9:09}Z"


def _as_otlp(events: list[dict[str, Any]]) -> dict[str, Any]:
    records = []
    for event in events:
        attributes = [
            {"key": key, "value": _value(value)}
            for key, value in event.items()
            if key != "timestamp"
        ]
        records.append({"timeUnixNano": str(event["timestamp"]), "attributes": attributes})
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def _value(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value}


def _token(client: MetaClient) -> str:
    client.catalog.CreateDataset(CreateDatasetRequest(name="bench"))
    request = CreateIngestTokenRequest(name="bench", dataset_name="bench")
    return client.ingest_token.CreateIngestToken(request).plaintext_token
