"""segplane why: real holdings of a dataset, in words, with their commands and the exit code."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from meta.v1 import catalog_pb2
from tests.support.command_line import RunCommand
from tests.support.meta.explanations import WORKERS, report
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.schema_violations import QUARANTINE, bind, send
from tests.support.waiting import wait_until
from tests.support.worker_process import WorkerProcess


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Give a collector of a dataset in an installation whose workers report."""
    report(meta_server.client, *WORKERS)
    return CollectorDriver(meta_server.client, dataset(meta_server.client))


@pytest.fixture
def real_nursery(meta_server: MetaServer) -> Iterator[WorkerProcess]:
    """Run a nursery."""
    process = WorkerProcess("nursery", {"NURSERY_META_ADDRESS": meta_server.address})
    yield process
    process.close()


def name_of(collector: CollectorDriver) -> str:
    request = catalog_pb2.GetDatasetRequest(id=collector.dataset_id)
    return collector.client.catalog.GetDataset(request).name


def stages(run: RunCommand, name: str) -> dict[str, dict[str, Any]]:
    """Holdings by stage, as programs read them."""
    data = json.loads(run("why", name, "--json").stdout)
    return {held["stage"]: held for held in data["holdings"]}


def test_a_dataset_in_order_is_a_line_and_exit_code_0(
    run: RunCommand, collector: CollectorDriver
) -> None:
    collector.send("one")
    nursery(collector.client).cycle()
    name = name_of(collector)

    by_name, by_id = run("why", name), run("why", collector.dataset_id)

    assert by_name.exit_code == by_id.exit_code == 0
    assert (
        by_name.stdout
        == by_id.stdout
        == f"{name}: nothing needs a person, all committed records are visible\n"
    )
    data = json.loads(run("why", name, "--json").stdout)
    assert int(data.pop("database_time_nanos")) > 0
    assert data == {
        "ok": True,
        "needs": [],
        "dataset_id": collector.dataset_id,
        "dataset_name": name,
        "holdings": [],
    }


def test_records_wait_until_a_real_nursery_starts(
    run: RunCommand, meta_server: MetaServer, request: pytest.FixtureRequest
) -> None:
    report(meta_server.client, "merge_worker")
    collector = CollectorDriver(meta_server.client, dataset(meta_server.client))
    name = name_of(collector)
    collector.send("one")

    held = run("why", name)

    assert held.exit_code == 1
    assert held.stdout.splitlines()[:3] == [
        f"{name}: 1 thing needs a person",
        "  - no nursery reports, so committed records stay unmerged",
        "      next: segplane status",
    ]
    assert "for information:" in held.stdout
    assert "committed records of 1 baby segment await a nursery" in held.stdout
    request.getfixturevalue("real_nursery")
    wait_until(lambda: stages(run, name) == {}, "the nursery merges")
    assert run("why", name).exit_code == 0


def test_the_next_command_of_a_brake_or_a_missing_token_ends_it(
    run: RunCommand, meta_server: MetaServer
) -> None:
    report(meta_server.client, *WORKERS)
    assert run("datasets", "create", "web shop").exit_code == 0

    held = stages(run, "web shop")["no_token"]
    command = shlex.split(held["next"])

    assert (command[0], held["needs_person"]) == ("segplane", True)
    assert run(*command[1:]).exit_code == 0
    assert "no_token" not in stages(run, "web shop")


def test_a_parked_stream_leads_to_the_stream(run: RunCommand, collector: CollectorDriver) -> None:
    collector.send("one")
    collector.store.delete([info.key for info in collector.store.list("")])
    nursery(collector.client).cycle()

    held = stages(run, name_of(collector))["parked"]

    assert held["subjects"] == [collector.stream_id]
    assert "a stream cannot pass a baby segment" in held["sentence"]
    shown = run(*shlex.split(held["next"])[1:])
    assert shown.exit_code == 0, shown.output
    assert f"parked: {collector.stream_id} at offset 0" in shown.stdout


def test_quarantined_records_are_for_information_and_lead_to_their_payloads(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    name = name_of(collector)
    send(collector, 1, 2)
    nursery(collector.client).cycle()
    assert stages(run, name) == {}
    send(collector, 1, "two")
    send(collector, "three")
    nursery(collector.client).cycle()

    done = run("why", name)
    held = stages(run, name)["quarantined"]

    assert done.exit_code == 0
    assert "records of 2 baby segments violate its schema" in done.stdout
    assert (held["amount"], held["subjects"]) == ("2", [collector.stream_id])
    listed = run(*shlex.split(held["next"])[1:], "--json")
    assert len(json.loads(listed.stdout)) == 2


def test_a_lock_is_shown_with_its_reason_and_needs_nobody(
    run: RunCommand, collector: CollectorDriver
) -> None:
    name = name_of(collector)
    run("datasets", "lock", name, "--reason", "audit of 2026", "--until", "90d")

    held = run("why", name)

    assert held.exit_code == 0
    assert "anonymous has locked it" in held.stdout
    assert "ends in 89 d 23 h: audit of 2026" in held.stdout


def test_an_unknown_dataset_is_refused_with_a_suggestion(
    run: RunCommand, meta_server: MetaServer
) -> None:
    run("datasets", "create", "checkout")

    refused = run("why", "chekout")

    assert refused.exit_code == 1
    assert "there is no dataset 'chekout'" in refused.stderr
    assert "checkout" in refused.stderr.replace("chekout", "")
