"""The database and the bucket of the release before, under today's meta and readers."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from meta import migrations
from meta.client import MetaClient
from meta.store.engine.pool import Database, DatabaseSettings
from meta.v1 import janitor_pb2
from segplane.__main__ import app
from segplane.read import open_dataset
from tests.releases import recorded_datasets, recorded_replies
from tests.releases.recorded_catalog import Tokens
from tests.releases.recorded_datasets import TYPED
from tests.releases.recorded_run import ADMIN
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import nursery
from tests.support.releases.client import DescribedClient
from tests.support.releases.processes import running
from tests.support.releases.records import acknowledged, merged, read
from tests.support.releases.release import RELEASE_BEFORE
from tests.support.releases.rows import columns_of, rows_of
from tests.support.waiting import wait_until

# Another role than the owner cannot migrate.
pytestmark = pytest.mark.database_owner
# With fresh records, and without.
DATASETS = ("web", "orders")


def test_migrations_keep_every_recorded_row(database_url: str) -> None:
    columns = columns_of(database_url)
    recorded = rows_of(database_url, columns)

    today = Database(DatabaseSettings(url=database_url))
    migrations.upgrade(today)
    revision = migrations.current_revision(today)
    today.close()

    assert revision == migrations.head_revision()
    assert len(recorded["segments"]) > 20
    assert rows_of(database_url, columns) == recorded


def test_every_recorded_reply_is_given_again(meta_server: MetaServer) -> None:
    lines = (RELEASE_BEFORE.fixtures / "replies.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in lines]

    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        replies = [
            call | {"reply": recorded_replies.ask(client, call["method"], call["request"])}
            for call in calls
        ]

    assert len(calls) > 60
    for reply, call in zip(replies, calls, strict=True):
        assert reply == call


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_acknowledged_record_is_read_once(meta_server: MetaServer, dataset: str) -> None:
    sent = acknowledged(RELEASE_BEFORE, dataset)

    assert read(meta_server.address, ADMIN, dataset, is_fresh=True) == sent
    assert read(meta_server.address, ADMIN, dataset, is_fresh=False) == merged(sent)
    assert merged(sent) != sent


@pytest.mark.parametrize("dataset", recorded_datasets.READABLE)
def test_every_record_of_a_dataset_of_its_kind_is_read_once(
    meta_server: MetaServer, dataset: str
) -> None:
    sent = acknowledged(RELEASE_BEFORE, dataset)

    assert sent
    assert read(meta_server.address, ADMIN, dataset, is_fresh=False) == sent


def test_every_event_of_the_typed_dataset_is_read_once(meta_server: MetaServer) -> None:
    assert _payments(meta_server) == _sent_payments()


def test_nursery_and_merges_go_on_where_they_stopped(
    meta_server: MetaServer, objects: Path
) -> None:
    tasks = _merge_tasks(meta_server)
    worker = {
        "MERGE_WORKER_META_ADDRESS": meta_server.address,
        "MERGE_WORKER_META_AUTH_TOKEN": ADMIN,
        "MERGE_WORKER_INTERVAL_SECS": "0.2",
        "SEGPLANE_SPARK_MASTER": "processes[1]",
    }
    with MetaClient(meta_server.address, auth_token=ADMIN) as client:
        nursery(client).cycle()
        client.janitor.CreateMergeTasks(janitor_pb2.CreateMergeTasksRequest())
    with running(Path(sys.executable), "merge_worker", objects.parent, **worker):
        wait_until(lambda: not _merge_tasks(meta_server), "no merge task is open", poll_secs=0.2)

    # A task was open, and the nursery's segments made more.
    assert tasks
    for dataset in (*DATASETS, *recorded_datasets.READABLE):
        sent = acknowledged(RELEASE_BEFORE, dataset)
        assert read(meta_server.address, ADMIN, dataset, is_fresh=False) == sent
    assert _payments(meta_server) == _sent_payments()


def test_a_dataset_that_was_deleted_before_comes_back(meta_server: MetaServer) -> None:
    sent = acknowledged(RELEASE_BEFORE, "gone")
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        deleted = client.call("OperationsService.ListAuditRecords", {"rpc": "DeleteDataset"})
        # The newest comes first.
        dataset = {"dataset_id": deleted["records"][-1]["subject_id"]}
        client.call("OperationsService.UndeleteDataset", dataset)

    assert sent
    assert read(meta_server.address, ADMIN, "gone", is_fresh=False) == sent


def test_a_gateway_describes_the_recorded_table(meta_server: MetaServer, tokens: Tokens) -> None:
    gateway = GatewayServer(meta_server.address, tokens.access["gateway"])
    table = gateway.table("web")
    gateway.close()

    assert table.status == 200
    assert table.json["metadata"]["snapshots"]


@pytest.mark.parametrize("depth", ["--deep", "--data"])
def test_fsck_finds_nothing_wrong(meta_server: MetaServer, depth: str) -> None:
    checked = _run(meta_server, "fsck", depth)

    assert checked.exit_code == 0, checked.output


def test_the_quarantine_lists_payloads_of_every_kind(meta_server: MetaServer) -> None:
    listed = _run(meta_server, "quarantine", "list", "--json")

    causes = {payload["cause"].partition(":")[0] for payload in json.loads(listed.stdout)}
    assert causes == {"corrupt_baby", "corrupt_slice", "schema_violations"}


def _run(meta_server: MetaServer, *arguments: str) -> Result:
    """Run a command of today."""
    environment = {
        "SEGPLANE_META_ADDRESS": meta_server.address,
        "SEGPLANE_META_AUTH_TOKEN": ADMIN,
    }
    return CliRunner().invoke(app, arguments, env=environment)


def _merge_tasks(meta_server: MetaServer) -> list[Any]:
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        tasks: list[Any] = client.call("JanitorService.ListMergeTasks").get("tasks", [])
        return tasks


def _payments(meta_server: MetaServer) -> Counter[tuple[str, int]]:
    columns = ["payment_id", "amount"]
    with open_dataset(
        TYPED, "logs", columns=columns, meta_address=meta_server.address, token=ADMIN
    ) as opened:
        table = opened.to_table()
        return Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))


def _sent_payments() -> Counter[tuple[str, int]]:
    lines = (RELEASE_BEFORE.fixtures / "payments.jsonl").read_text().splitlines()
    sent = [json.loads(line) for line in lines]
    return Counter((event["payment_id"], event["amount.cents"]) for event in sent)
