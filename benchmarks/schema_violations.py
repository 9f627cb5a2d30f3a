"""The check of records against a schema: the CPU of one collector a record, with and without it.

The same logs, of which all conform, are sent to one collector with two tokens in turn, in pairs:
one routes to a dataset that rejects by ten columns, the other to a dataset without a schema. The
CPU is that of the collector's processes until the answers, so durable puts and commits are in it.
"""

import shutil
import statistics
import tempfile
from http.client import HTTPConnection
from pathlib import Path
from uuid import UUID

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from benchmarks.harness.collectors import running_collector
from benchmarks.harness.processes import TreeClock
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as pb

RECORDS = 2_000
# Of each token in a round: more than the clock's hundredths of a second can blur.
REQUESTS = 20
PAIRS = 12
BAR = 2.5
_FIRST_SECS = 1_764_063_000
_TYPES = {
    "order_id": common_pb2.KQL_TYPE_GUID,
    "user_id": common_pb2.KQL_TYPE_STRING,
    "country": common_pb2.KQL_TYPE_STRING,
    "currency": common_pb2.KQL_TYPE_STRING,
    "session": common_pb2.KQL_TYPE_STRING,
    "price": common_pb2.KQL_TYPE_LONG,
    "quantity": common_pb2.KQL_TYPE_INT,
    "discount": common_pb2.KQL_TYPE_REAL,
    "paid": common_pb2.KQL_TYPE_BOOL,
    "paid_at": common_pb2.KQL_TYPE_DATETIME,
}


def run() -> list[Result]:
    """Pairs of rounds; the median of each side."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            with server.client() as client:
                tokens = {name: _token(client, name) for name in ("without", "bound")}
                _bind(client, "bound")
            with running_collector(server.address, COLLECTOR_CONVERSION_PROCESSES="1") as collector:
                sender = _Sender(collector.http_address)
                return [_measure(sender, TreeClock(collector.pid), tokens)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Sender:
    """Sends requests, none of which equals another; their bodies are made beforehand."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(address, timeout=60)
        self._sent = 0

    def bodies(self) -> list[bytes]:
        """Make the bodies of a round."""
        self._sent += REQUESTS
        return [_logs(self._sent + number) for number in range(REQUESTS)]

    def send(self, token: str, bodies: list[bytes]) -> None:
        """Send a round."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-protobuf"}
        for body in bodies:
            self._connection.request("POST", "/v1/logs", body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
            # Anything in it is a partial success.
            assert (answer.status, text) == (200, b""), text


def _measure(sender: _Sender, clock: TreeClock, tokens: dict[str, str]) -> Result:
    costs: dict[str, list[float]] = {name: [] for name in tokens}
    for token in tokens.values():
        sender.send(token, sender.bodies())
    for pair in range(PAIRS):
        for name, token in tokens.items() if pair % 2 else reversed(tokens.items()):
            bodies = sender.bodies()
            began = clock()
            sender.send(token, bodies)
            costs[name].append(1e6 * (clock() - began) / (REQUESTS * RECORDS))
    pairs = zip(costs["bound"], costs["without"], strict=True)
    ratios = sorted(bound / without for bound, without in pairs)
    print(f"  ratios of pairs {ratios[0]:.3g} to {ratios[-1]:.3g}")
    return compare(
        "collector_enforced_columns",
        statistics.median(costs["bound"]),
        statistics.median(costs["without"]),
        reference_name="a dataset without a schema",
        unit="microseconds of the collector's CPU a record of ten columns",
        bar=BAR,
        higher_is_better=False,
    )


def _logs(request: int) -> bytes:
    data = LogsData()
    resource = data.resource_logs.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    records = resource.scope_logs.add().log_records
    for number in range(RECORDS):
        nanos = (_FIRST_SECS + request) * 10**9 + number
        record = records.add(time_unix_nano=nanos, severity_number=9)
        record.body.string_value = f"order {number} of user {number * 7919 % 5_000} is paid"
        texts = {
            "order_id": str(UUID(int=nanos << 60 | number)),
            "user_id": f"user-{number * 7919 % 5_000}",
            "country": ("de", "fr", "us")[number % 3],
            "currency": "EUR",
            "session": f"session-{nanos}",
            "paid_at": f"2026-11-26T11:{number % 60:02}:{request % 60:02}.{number % 1_000:03}Z",
        }
        for key, text in texts.items():
            record.attributes.add(key=key).value.string_value = text
        record.attributes.add(key="price").value.int_value = number * 104_729 % 100_000
        record.attributes.add(key="quantity").value.int_value = 1 + number % 7
        record.attributes.add(key="discount").value.double_value = number % 10 / 10
        record.attributes.add(key="paid").value.bool_value = number % 9 > 0
    return data.SerializeToString()


def _token(client: MetaClient, name: str) -> str:
    client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
    request = ingest_token_pb2.CreateIngestTokenRequest(name=name, dataset_name=name)
    return client.ingest_token.CreateIngestToken(request).plaintext_token


def _bind(client: MetaClient, name: str) -> None:
    columns = [common_pb2.Column(name=key, type=type_) for key, type_ in _TYPES.items()]
    schema = client.catalog.CreateSchema(
        catalog_pb2.CreateSchemaRequest(name="order", columns=columns)
    )
    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
    client.operations.SetDatasetSettings(
        pb.SetDatasetSettingsRequest(
            dataset_id=dataset.id,
            settings=pb.DatasetSettings(
                binding=pb.SchemaBinding(schema_id=schema.id),
                schema_violations=pb.SCHEMA_VIOLATIONS_REJECT,
            ),
        )
    )
