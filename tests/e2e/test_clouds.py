"""The whole pipeline over the protocols of other clouds, with kills: every record once."""

import json
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.read import open_dataset
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from tests.e2e.conftest import PACE
from tests.support.pipeline.reading import find_all
from tests.support.pipeline.sending import GrpcSender, exports, make_records
from tests.support.waiting import wait_until

RECORDS = 400
ROUNDS = 3
KILLED = ("collector", "nursery", "merge_worker")
# Midday, so that no record crosses into another UTC day.
MIDDAY_NANOS = 1_780_056_000 * 10**9

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(params=["gcs", "azure"])
def location(request: pytest.FixtureRequest) -> StoreLocation:
    found: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return found


@pytest.fixture
def store(location: StoreLocation) -> ObjectStore:
    return open_store(location)


@pytest.fixture
def stack(location: StoreLocation, database_url: str) -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    settings = StackSettings(
        data_dir=folder,
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        database_url=database_url,
        object_store_url=location.url(),
        inherited={**os.environ, **PACE},
    )
    try:
        with Stack(settings, print) as running:
            yield running
    finally:
        for path in sorted((folder / "logs").glob("*.log")):
            print(f"--- {path.name}")
            print("\n".join(path.read_text(errors="replace").splitlines()[-30:]))
        shutil.rmtree(folder, ignore_errors=True)


def test_every_record_is_there_once_through_kills(stack: Stack, store: ObjectStore) -> None:
    wait_for = partial(wait_until, tick=stack.check, seconds=120)
    sent: Counter[str] = Counter()
    with MetaClient(stack.settings.meta_address) as client:
        client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
        token = client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="web", dataset_name="web")
        ).plaintext_token
        sender = GrpcSender(stack.settings.otlp_grpc_address, token)
        for number, killed in zip(range(ROUNDS), KILLED, strict=True):
            records = make_records("logs", RECORDS, f"round {number}", MIDDAY_NANOS)
            for part, payload in exports(records):
                wait_for(partial(sender.send, "logs", payload), "an export is acknowledged")
                sent.update(record.text for record in part)
            pid = stack.children[killed].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            wait_for(
                lambda: sum(s.number_of_events for s in find_all(client, "web")) == sent.total(),
                "the nursery has merged the records",
            )
        wait_for(
            lambda: [one.merge_count > 0 for one in find_all(client, "web")] == [True],
            "one segment is left",
        )
        wait_for(
            lambda: (
                not list(store.list("ingest-stream/")) and len(list(store.list("dataset/"))) == 1
            ),
            "merged babies and replaced segments are deleted",
        )

        with open_dataset("web", meta_address=stack.settings.meta_address) as web:
            bodies = Counter(web.to_table().column("body").to_pylist())
        assert bodies == sent
        assert not list(store.list("quarantine/"))
    assert _counted(stack) == sent.total()


def _counted(stack: Stack) -> int:
    query = json.dumps({"query": "web | count", "language": "kql"}).encode()
    request = Request(f"http://{stack.settings.gateway_bind}/v1/query", query)
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=60) as reply:
        (row,) = json.loads(reply.read())
    return int(row["Count"])
