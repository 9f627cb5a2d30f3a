"""segplane workers against a real meta."""

import json

from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingestion_pb2
from tests.support.command_line import RunCommand


def test_workers_are_listed_set_shown_and_unset(run: RunCommand, meta_client: MetaClient) -> None:
    dataset = meta_client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web")).id
    request = ingestion_pb2.DownloadConfigRequest(worker_id="merge_worker/big-1")
    meta_client.ingestion.DownloadConfig(request)

    (worker,) = json.loads(run("workers", "list", "--json").stdout)
    assert worker["id"] == "merge_worker/big-1"
    assert "merge_worker/big-1" in run("workers", "list").stdout
    changed = run(
        "workers", "settings", "merge_worker/*", "--concurrent-tasks", "2", "--dataset", "web"
    )
    assert (changed.exit_code, changed.stdout.split()) == (
        0,
        ["concurrent_tasks", "2", "datasets", dataset],
    )
    run("workers", "settings", "merge_worker/big-*", "--concurrent-tasks", "9")
    shown = run("workers", "settings", "merge_worker/big-1").stdout.splitlines()
    assert [line.split()[1:] for line in shown if line.startswith("concurrent_tasks")] == [
        ["9", "merge_worker/big-*"]
    ]
    everything = json.loads(run("workers", "settings", "--json").stdout)["named"]
    assert [named["name"] for named in everything] == ["merge_worker/*", "merge_worker/big-*"]
    unset = run("workers", "settings", "merge_worker/*", "--unset", "concurrent-tasks").stdout
    assert unset.split() == ["datasets", dataset]
    none = run("workers", "settings", "merge_worker/*", "--unset", "all").stdout
    assert none == "merge_worker/* has no settings\n"


def test_workers_alone_is_status_and_its_list_is_as_it_was_with_a_hint(
    run: RunCommand, meta_client: MetaClient
) -> None:
    request = ingestion_pb2.DownloadConfigRequest(worker_id="merge_worker/big-1")
    meta_client.ingestion.DownloadConfig(request)

    alias, status = run("workers"), run("status")
    alias_data = json.loads(run("workers", "--json").stdout)
    listed, listed_data = run("workers", "list"), run("workers", "list", "--json")

    assert alias.exit_code == status.exit_code == 1
    assert alias.stdout.splitlines()[:3] == status.stdout.splitlines()[:3]
    assert [each["report"]["name"] for each in alias_data["processes"]] == ["big-1"]
    assert listed.stdout.splitlines()[0].split() == ["WORKER", "FIRST", "SEEN", "LAST", "SEEN"]
    assert [worker["id"] for worker in json.loads(listed_data.stdout)] == ["merge_worker/big-1"]
    for hinted in (alias, listed, listed_data):
        assert "`segplane status`" in hinted.stderr


def test_a_change_without_a_setting_or_of_no_dataset_is_refused(run: RunCommand) -> None:
    nothing = run("workers", "settings", "nursery/*")
    unknown = run("workers", "settings", "merge_worker/*", "--dataset", "webb")
    too_many = run("workers", "settings", "merge_worker/*", "--concurrent-tasks", "0")

    assert (nothing.exit_code, unknown.exit_code, too_many.exit_code) == (2, 1, 1)
    assert "at least one setting" in nothing.stderr
    assert "concurrent_tasks" in too_many.stderr
