"""segplane deletion plan: what is due, what waits, and what needs a person."""

import json

import pytest

from meta.client import MetaClient
from meta.store.deletion.baselines import SEGMENTS_FLOOR
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer

BRAKE = """
    INSERT INTO deletion_brakes (dataset_key, braked_at, segments, size_bytes, live_size_bytes)
    SELECT key, now(), 2, 2, 0 FROM datasets WHERE name = 'other one'
"""


@pytest.fixture
def web(meta_client: MetaClient) -> str:
    """A dataset whose segments were merged."""
    dataset = CatalogDriver(meta_client).dataset("web")
    Writer(meta_client).save_many(dataset, 4)
    worker = WorkerDriver(meta_client)
    worker.plan()
    assert worker.merge_all() == 1
    return dataset


def execute(server: MetaServer, statement: str) -> None:
    with server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def test_a_plan_shows_what_is_due_and_what_waits(
    run: RunCommand, meta_client: MetaClient, meta_server: MetaServer, web: str
) -> None:
    soon = run("deletion", "plan")
    writer, other = Writer(meta_client), CatalogDriver(meta_client).dataset("other one")
    writer.save_many(other, 2)
    execute(
        meta_server,
        "UPDATE segments SET tombstone_version = created_version + 1,"
        " tombstone_at = now() - interval '1 day' WHERE dataset_key ="
        " (SELECT key FROM datasets WHERE name = 'other one')",
    )
    due = run("deletion", "plan", "--limit", "1")
    execute(meta_server, BRAKE)
    braked = run("deletion", "plan")
    only_web = run("deletion", "plan", web, "--json")

    assert soon.exit_code == 0
    assert soon.stdout.splitlines() == [
        "ok: segments to be deleted: within 7 days 4 (3.91 KiB)",
        "",
        "DUE         DATASET  SEGMENTS      SIZE  BY",
        "within 1 h  web             4  3.91 KiB  merged or rewritten",
    ]
    assert due.exit_code == 0
    assert due.stdout.splitlines() == [
        "ok: segments to be deleted: due 2 (1.95 KiB), within 7 days 4 (3.91 KiB)",
        "",
        "DUE  DATASET    SEGMENTS      SIZE  BY",
        "now  other one         2  1.95 KiB  expired",
        "and later in 1 more rows: 4 (3.91 KiB)",
    ]
    assert braked.exit_code == 1
    assert braked.stdout.splitlines() == [
        "1 thing needs a person; segments to be deleted: within 7 days 4 (3.91 KiB),"
        " waiting 2 (1.95 KiB)",
        "  - the deletion brake holds 2 segments (1.95 KiB) of other one:"
        " `segplane deletion --release --dataset 'other one'` if they may go",
        "",
        "DUE         DATASET  SEGMENTS      SIZE  BY",
        "within 1 h  web             4  3.91 KiB  merged or rewritten",
        "",
        "WAITS FOR       DATASET    SEGMENTS      SIZE  UNTIL",
        "deletion brake  other one         2  1.95 KiB      -",
    ]
    data = json.loads(only_web.stdout)
    assert (only_web.exit_code, data["ok"], data["needs"]) == (0, True, [])
    assert [(row["dataset_id"], row["cause"]) for row in data["planned"]] == [(web, "replaced")]


def test_a_brake_to_come_needs_a_person_and_a_deleted_dataset_is_reached_by_its_id(
    run: RunCommand, meta_client: MetaClient, meta_server: MetaServer
) -> None:
    dataset = CatalogDriver(meta_client).dataset("web")
    Writer(meta_client).save_many(dataset, SEGMENTS_FLOOR + 1)
    execute(
        meta_server,
        "UPDATE segments SET tombstone_version = created_version + 1,"
        " tombstone_at = now() - interval '1 day'",
    )
    execute(meta_server, "UPDATE dataset_stats SET live_compressed_size_bytes = 0")

    due = run("deletion", "plan", "web", "--json")
    assert run("datasets", "delete", "web").exit_code == 0
    deleted = run("deletion", "plan", dataset, "--json")

    assert (due.exit_code, deleted.exit_code) == (1, 0)
    (need,) = json.loads(due.stdout)["needs"]
    assert need.startswith("the deletion brake will hold 101 segments (98.6 KiB) of web")
    assert json.loads(deleted.stdout)["needs"] == []
    assert run("deletion", "plan", "web").exit_code == 1


def test_a_hold_needs_a_person(run: RunCommand) -> None:
    run("deletion", "--hold")
    held = run("deletion", "plan")

    assert held.exit_code == 1
    assert held.stdout.splitlines() == [
        "1 thing needs a person; segments to be deleted: none",
        "  - all deletion is held: `segplane fsck --deep`, then `segplane deletion --release`",
    ]


def test_deletion_alone_does_what_it_did(run: RunCommand) -> None:
    assert run("deletion", "--hold").stdout == "deletion is held\n"
    assert "deletion                held" in run("deletion").stdout
    assert json.loads(run("deletion", "--json").stdout)["deletion_held"]
    assert run("deletion", "--release").exit_code == 0
    mixed = run("deletion", "--hold", "plan")
    assert (mixed.exit_code, "--hold" in mixed.stderr) == (2, True)
    assert "deletion                running" in run("deletion").stdout
    assert run("deletion", "plan", "--limit", "1001").exit_code == 2
    assert run("deletion", "plan", "nothing").exit_code == 1
