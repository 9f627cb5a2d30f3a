"""Strict reading of OTLP beside the collector before it, by CPU, in interleaved pairs.

Two collectors take the same exports over HTTP in turn: that of this tree, and that of the commit
before OTLP/JSON was read strictly. The CPU is that of all processes of a collector, and includes
everything until the answer. Judged are the median of the pairs' ratios, and for valid exports the
upper end of its 95 % interval too. An export of which every record is refused is also compared with
a valid one of the same collector.
"""

import io
import json
import shutil
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from benchmarks.harness.collectors import running_collector
from benchmarks.harness.processes import TreeClock
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest

BEFORE = "feea980d"
RECORDS = 1_000
PAIRS = 30
# Of 30 sorted ratios, the 10th and the 21st enclose the median with a probability of 95.7 %.
LOWER_RANK, UPPER_RANK = 10, 21
CONNECTIONS = 32
_FIRST_NANOS = 1_764_063_000 * 10**9
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_MARK = b"<bad>"
_NOT_UTF_8 = b"\xff\xfe\xfd\xfc\xfb"


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of an export, and so many requests that a round outlasts the clock's ticks."""

    content_type: str
    body_of: Callable[[int], bytes]
    requests: int
    status: int = 200


@dataclass(slots=True)
class _Contender:
    """A collector, and its CPU seconds an export by form and round."""

    address: str
    token: str
    clock: TreeClock
    costs: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, name: str, form: _Form, numbers: Sequence[int]) -> None:
        """Send one round; each connection has its share of the exports."""
        bodies = [form.body_of(number) for number in numbers]
        shares = [bodies[n::CONNECTIONS] for n in range(CONNECTIONS)]
        began = self.clock()
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            list(threads.map(lambda share: self._send(form, share), shares))
        self.costs.setdefault(name, []).append((self.clock() - began) / len(bodies))

    def _send(self, form: _Form, bodies: Sequence[bytes]) -> None:
        connection = HTTPConnection(self.address, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": form.content_type}
        for body in bodies:
            connection.request("POST", "/v1/logs", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == form.status, text
        connection.close()


def run() -> list[Result]:
    """All forms in turn, pair by pair."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        trees = {"ours": Path(__file__).parents[1], "before": _checked_out(folder / "before")}
        with ExitStack() as stack:
            ours, before = (
                stack.enter_context(_contender(folder / name, tree)) for name, tree in trees.items()
            )
            numbers = count()
            for pair in range(PAIRS + 1):
                for name, form in _FORMS.items():
                    for contender in (ours, before) if pair % 2 else (before, ours):
                        sent = [next(numbers) for _ in range(form.requests)]
                        contender.measure(name, form, sent)
        return list(_results(ours, before))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _checked_out(folder: Path) -> Path:
    """Write the tree of the commit before to a folder."""
    root = Path(__file__).parents[1]
    done = subprocess.run(["git", "archive", BEFORE], cwd=root, check=True, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@contextmanager
def _contender(folder: Path, tree: Path) -> Iterator[_Contender]:
    """Run a tree's collector over a meta and its own database."""
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
        with server.client() as client:
            token = _token(client)
        with running_collector(
            server.address, COLLECTOR_CONVERSION_PROCESSES="1", PYTHONPATH=str(tree)
        ) as collector:
            yield _Contender(collector.http_address, token, TreeClock(collector.pid))


def _token(client: MetaClient) -> str:
    client.catalog.CreateDataset(CreateDatasetRequest(name="bench"))
    request = CreateIngestTokenRequest(name="bench", dataset_name="bench")
    return client.ingest_token.CreateIngestToken(request).plaintext_token


def _json_export(number: int, **members: Any) -> bytes:
    records = [
        {
            "timeUnixNano": str(_FIRST_NANOS + number * RECORDS + place),
            "severityNumber": 9,
            "body": {"stringValue": f"GET /shop/items/{place * 31 % 997} took {place % 90} ms"},
            "traceId": f"{number * RECORDS + place:032x}",
            "attributes": [
                {"key": "user", "value": {"stringValue": f"user-{place * 7919 % 5_000}"}},
                {"key": "status", "value": {"intValue": "200"}},
                {"key": "seconds", "value": {"doubleValue": place / 1_000}},
            ],
            **members,
        }
        for place in range(RECORDS)
    ]
    tree = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    return json.dumps(tree, separators=(",", ":")).encode()


def _protobuf_export(number: int, suffix: str = "") -> bytes:
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for place in range(RECORDS):
        record = records.add(
            time_unix_nano=_FIRST_NANOS + number * RECORDS + place, severity_number=9
        )
        record.body.string_value = (
            f"GET /shop/items/{place * 31 % 997} took {place % 90} ms{suffix}"
        )
        record.trace_id = (number * RECORDS + place).to_bytes(16)
        record.attributes.add(key="user").value.string_value = f"user-{place * 7919 % 5_000}"
        record.attributes.add(key="status").value.int_value = 200
        record.attributes.add(key="seconds").value.double_value = place / 1_000
    return data.SerializeToString()


def _damaged(number: int) -> bytes:
    return _protobuf_export(number, _MARK.decode()).replace(_MARK, _NOT_UTF_8)


_FORMS = {
    "json": _Form(_JSON, _json_export, 8),
    "json_unknown": _Form(_JSON, lambda number: _json_export(number, entirelyNew=1), 8),
    "json_refused": _Form(_JSON, lambda number: _json_export(number, flags="x"), 8, 400),
    "protobuf": _Form(_PROTOBUF, _protobuf_export, 200),
    "protobuf_refused": _Form(_PROTOBUF, _damaged, 40, 400),
}


def _results(ours: _Contender, before: _Contender) -> Iterator[Result]:
    for name in ("json", "protobuf"):
        yield _ratio(name, ours.costs[name], before.costs[name], 1.03)
        yield _ratio(f"{name}_upper", ours.costs[name], before.costs[name], 1.05)
        refused = ours.costs[f"{name}_refused"]
        yield _ratio(f"{name}_refused", refused, before.costs[f"{name}_refused"], 3.0)
        yield _ratio(f"{name}_refused_valid", refused, ours.costs[name], 0.0, "a valid export")
    yield _ratio("json_unknown", ours.costs["json_unknown"], before.costs["json"], 1.3)


def _ratio(
    name: str,
    ours: Sequence[float],
    others: Sequence[float],
    bar: float,
    reference_name: str = f"the collector of {BEFORE}",
) -> Result:
    # The first round starts processes.
    pairs = zip(ours[1:], others[1:], strict=True)
    ratios = sorted(mine / other for mine, other in pairs)
    lower, upper = ratios[LOWER_RANK - 1], ratios[UPPER_RANK - 1]
    judged = upper if name.endswith("_upper") else statistics.median(ratios)
    return compare(
        f"strict_reading_{name}",
        judged,
        1.0,
        reference_name=f"{reference_name}, {1e3 * statistics.median(others[1:]):.4g} ms of CPU",
        unit=f"ratio of CPU an export, 95 % interval {lower:.4g} to {upper:.4g}, {PAIRS} pairs,"
        f" {1e3 * statistics.median(ours[1:]):.4g} ms",
        bar=bar,
        higher_is_better=False,
    )
