"""The database and the bucket of the release before, under today's meta and readers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import sql

from meta import migrations
from meta.client import MetaClient
from meta.store.engine.pool import Database, DatabaseSettings
from segments.location import StoreLocation
from segments.store.open import open_store
from segplane.__main__ import app
from tests.releases import recorded_replies
from tests.releases.recorded_catalog import Tokens
from tests.releases.recorded_run import ADMIN
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import nursery
from tests.support.releases.client import DescribedClient
from tests.support.releases.records import acknowledged, merged, read
from tests.support.releases.release import RELEASE_BEFORE

# Another role than the owner cannot migrate.
pytestmark = pytest.mark.database_owner
DATASETS = ("web", "orders")
# Of entries: they may be further on than 0.2.0 had them, see ADR 20.
POSITIONS = ("merged_offset", "merged_ingest_time_nanos", "stream_offset")
_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    " AND table_name <> 'alembic_version' ORDER BY table_name, ordinal_position"
)
Rows = Mapping[str, list[tuple[Any, ...]]]


def test_migrations_keep_every_recorded_row(database_url: str) -> None:
    columns = _columns(database_url)
    recorded = _rows(database_url, columns)

    today = Database(DatabaseSettings(url=database_url))
    migrations.upgrade(today)
    revision = migrations.current_revision(today)
    today.close()

    assert revision == migrations.head_revision()
    assert len(recorded["segments"]) > 20
    assert _rows(database_url, columns) == recorded


@pytest.mark.parametrize(("age", "baselines"), [("6 days", []), ("8 days", [(3_153_600_000,) * 2])])
def test_a_retention_that_stood_for_a_week_is_the_baseline_of_the_brake(
    database_url: str, age: str, baselines: list[tuple[int, int]]
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE audit_log SET at = now() - %s::interval", (age,))

    today = Database(DatabaseSettings(url=database_url))
    migrations.upgrade(today)
    today.close()

    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT event_secs, created_secs FROM retention_baselines")
        assert rows.fetchall() == baselines


def test_every_recorded_reply_is_given_again(meta_server: MetaServer) -> None:
    lines = (RELEASE_BEFORE.fixtures / "replies.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in lines]

    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        replies = [
            call | {"reply": recorded_replies.ask(client, call["method"], call["request"])}
            for call in calls
        ]

    assert len(calls) > 40
    for reply, call in zip(replies, calls, strict=True):
        if call["method"] == "NurseryService.GetIngestStreamsForNursery":
            pairs = zip(implied(reply["reply"]), implied(call["reply"]), strict=True)
            assert all(now >= before for now, before in pairs)
        assert explicit(reply) == explicit(call)


def explicit(value: Any) -> Any:
    """Leave out the positions of entries: 0.2.0 moved them only by calls, now they are implied."""
    if isinstance(value, list):
        return [explicit(item) for item in value]
    if isinstance(value, dict):
        return {key: explicit(item) for key, item in value.items() if key not in POSITIONS}
    return value


def implied(reply: Any) -> list[int]:
    """The merged offsets of all entries, in the reply's order."""
    return [
        int(entry["merged_offset"]) for s in reply["streams"] for entry in s.get("datasets", ())
    ]


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_acknowledged_record_is_read_once(meta_server: MetaServer, dataset: str) -> None:
    sent = acknowledged(RELEASE_BEFORE, dataset)

    assert read(meta_server.address, ADMIN, dataset, is_fresh=True) == sent
    assert read(meta_server.address, ADMIN, dataset, is_fresh=False) == merged(sent)
    assert merged(sent) != sent


def test_nursery_and_merges_go_on_where_they_stopped(
    meta_server: MetaServer, objects: Path, tmp_path: Path
) -> None:
    store = open_store(StoreLocation.from_url(objects.as_uri()))
    with MetaClient(meta_server.address, auth_token=ADMIN) as client:
        nursery(client).cycle()
        merges = merge_all(client, store, tmp_path / "merges")

    # A task was open, and the nursery's segments made more.
    assert merges >= 1
    for dataset in DATASETS:
        sent = acknowledged(RELEASE_BEFORE, dataset)
        assert read(meta_server.address, ADMIN, dataset, is_fresh=False) == sent


def test_a_dataset_that_was_deleted_before_comes_back(meta_server: MetaServer) -> None:
    sent = acknowledged(RELEASE_BEFORE, "gone")
    with DescribedClient(RELEASE_BEFORE, meta_server.address, ADMIN) as client:
        deleted = client.call("OperationsService.ListAuditRecords", {"rpc": "DeleteDataset"})
        dataset = {"dataset_id": deleted["records"][0]["subject_id"]}
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


def test_the_quarantine_lists_the_damaged_payload(meta_server: MetaServer) -> None:
    listed = _run(meta_server, "quarantine", "list", "--json")

    assert [payload["cause"].partition(":")[0] for payload in json.loads(listed.stdout)] == [
        "corrupt_slice"
    ]


def _run(meta_server: MetaServer, *arguments: str) -> Result:
    """Run a command of today."""
    environment = {
        "SEGPLANE_META_ADDRESS": meta_server.address,
        "SEGPLANE_META_AUTH_TOKEN": ADMIN,
    }
    return CliRunner().invoke(app, arguments, env=environment)


def _columns(url: str) -> dict[str, list[str]]:
    with psycopg.connect(url) as connection:
        tables: dict[str, list[str]] = {}
        for table, column in connection.execute(_COLUMNS):
            tables.setdefault(table, []).append(column)
        return tables


def _rows(url: str, columns: Mapping[str, list[str]]) -> Rows:
    """Read the rows of all tables, as text and in a fixed order."""
    with psycopg.connect(url) as connection:
        return {
            table: connection.execute(
                sql.SQL("SELECT ROW({})::text FROM {} ORDER BY 1").format(
                    sql.SQL(", ").join(map(sql.Identifier, names)), sql.Identifier(table)
                )
            ).fetchall()
            for table, names in columns.items()
        }
