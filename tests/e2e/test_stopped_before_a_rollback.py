"""A janitor and a nursery, stopped while the database went back, delete nothing after it."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.operations_pb2 import GetServerStateRequest
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from tests.e2e.conftest import PACE
from tests.support.meta import rollback
from tests.support.pipeline.reading import find_all
from tests.support.pipeline.sending import GrpcSender, exports, make_records
from tests.support.waiting import wait_until

RECORDS = 200
ROUNDS = 3
# Midday, so that no record crosses into another UTC day.
MIDDAY_NANOS = 1_780_056_000 * 10**9
STOPPED = ("janitor", "nursery")
HASTY = {
    "SEGPLANE_TRIAL": "1",
    "META_ORPHAN_MIN_AGE_SECS": "0",
    "JANITOR_ORPHAN_INTERVAL_SECS": "1",
    "JANITOR_DELETION_INTERVAL_SECS": "1",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def stack(database_url: str, folder: Path) -> Iterator[Stack]:
    settings = StackSettings(
        data_dir=folder / "data",
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        database_url=database_url,
        inherited={**os.environ, **PACE, **HASTY},
    )
    with Stack(settings, print) as running:
        yield running


def objects(folder: Path) -> set[str]:
    """Babies and segments in the bucket."""
    root = folder / "data" / "objects"
    return {
        str(path.relative_to(root))
        for part in ("ingest-stream", "dataset")
        for path in (root / part).rglob("*")
        if path.is_file()
    }


def is_held(client: MetaClient) -> bool:
    try:
        return client.operations.GetServerState(GetServerStateRequest()).deletion_held
    except MetaError:
        return False


def rounds(stack: Stack) -> tuple[int, int]:
    """Times that the janitor met the hold, and lines of the nursery."""
    janitor = (stack.log_dir / "janitor.log").read_text()
    return janitor.count("deletion_held"), len((stack.log_dir / "nursery.log").read_text())


def test_what_was_stopped_before_a_rollback_deletes_nothing_after_it(
    stack: Stack, folder: Path, database_url: str
) -> None:
    wait_for = partial(wait_until, tick=stack.check, seconds=120)
    with MetaClient(stack.settings.meta_address) as client:
        client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
        token = client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="web", dataset_name="web")
        ).plaintext_token
        sender = GrpcSender(stack.settings.otlp_grpc_address, token)
        sent = 0

        def send(name: str) -> None:
            nonlocal sent
            records = make_records("logs", RECORDS, name, MIDDAY_NANOS)
            for part, payload in exports(records):
                wait_for(partial(sender.send, "logs", payload), "an export is acknowledged")
                sent += len(part)
            wait_for(
                lambda: sum(s.number_of_events for s in find_all(client, "web")) == sent,
                "the nursery has merged the records",
            )

        send("kept")
        backup = rollback.dump(folder, database_url)
        for number in range(ROUNDS):
            send(f"lost {number}")
        pids = [pid for name in STOPPED if (pid := stack.children[name].pid) is not None]
        assert len(pids) == len(STOPPED)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        there = objects(folder)

        rollback.restore(folder, backup, database_url)
        wait_for(lambda: is_held(client), "meta notices the rollback")
        before = rounds(stack)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: rounds(stack)[0] > before[0], "the janitor meets the hold")
        # A further export goes through the nursery, which has polled by then.
        records = make_records("logs", 1, "after", MIDDAY_NANOS)
        for _, payload in exports(records):
            wait_for(partial(sender.send, "logs", payload), "an export is acknowledged")
        wait_for(lambda: rounds(stack)[1] > before[1], "the nursery goes on")

        assert there - objects(folder) == set()
