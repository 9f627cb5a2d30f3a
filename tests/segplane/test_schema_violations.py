"""Records that violate a bound schema: quarantined alone, counted, replayed once."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from meta.v1 import operations_pb2 as pb
from nursery.execution.execute import execute
from segplane.read import open_dataset
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import BUDGET, CollectorDriver, dataset, nursery, write_and_fail
from tests.support.schema_violations import (
    CONFORMING,
    NULL,
    OTHERS,
    PRICES,
    QUARANTINE,
    REJECT,
    bind,
    bodies,
    choose,
    correct,
    listed,
    seen,
    send,
    withheld,
)


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    return CollectorDriver(meta_server.client, dataset(meta_server.client))


@pytest.mark.parametrize("choice", [QUARANTINE, REJECT], ids=["quarantine", "reject"])
def test_schema_violations_are_quarantined_alone_before_their_offset_is_passed(
    run: RunCommand, collector: CollectorDriver, choice: pb.SchemaViolations.ValueType
) -> None:
    bind(collector.client, collector.dataset_id, choice)
    send(collector, *PRICES)
    with capture_logs() as lines:
        nursery(collector.client).cycle()

    assert seen(collector) == CONFORMING
    (item,) = listed(run)
    assert bodies(collector.store.get(item["key"])) == OTHERS
    assert item["cause"] == (
        "schema_violations: record 1, price: a text that is no long;"
        " record 4, price: a text that is no long"
    )
    assert collector.merged() == {collector.dataset_id: 0}
    # Acknowledged are five: rows and quarantine together.
    assert withheld(run) == {"quarantined": (1, 2)}
    counted = [line for line in lines if line["event"] == "slices_quarantined"]
    assert [(line["cause"], line["count"]) for line in counted] == [("schema_violations", 1)]


def test_null_keeps_the_record_and_counts_the_values_by_column(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, NULL)
    send(collector, *PRICES)
    with capture_logs() as lines:
        nursery(collector.client).cycle()

    assert seen(collector) == sorted(CONFORMING + OTHERS)
    (line,) = [line for line in lines if line["event"] == "attributes_unconverted"]
    assert (line["count"], line["columns"]) == (2, {"price": 2})
    assert listed(run) == []


def test_quarantined_records_are_replayed_once_after_the_schema_was_corrected(
    run: RunCommand, collector: CollectorDriver
) -> None:
    schema = bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client).cycle()
    (item,) = listed(run)

    refused = run("quarantine", "replay", item["key"])
    correct(collector.client, schema)
    done = run("quarantine", "replay", item["key"])
    again = run("quarantine", "replay", item["key"])

    assert refused.exit_code == 1
    assert "record 0, price: a text that is no long" in refused.stderr
    assert "correct the schema, or add --as-is" in refused.stderr
    assert done.exit_code == 0, done.stderr
    assert again.exit_code == 1
    assert seen(collector) == sorted(CONFORMING + OTHERS)
    assert withheld(run) == {}


def test_quarantined_records_are_replayed_with_nulls_as_they_are(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, "two")
    nursery(collector.client).cycle()
    assert seen(collector) == []
    (item,) = listed(run)

    done = run("quarantine", "replay", item["key"], "--as-is")

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["0: two"]


def test_a_nursery_that_died_before_its_registration_leaves_one_copy(
    run: RunCommand, collector: CollectorDriver
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client, write_and_fail).cycle()

    before = withheld(run)
    nursery(collector.client).cycle()

    assert before["uncounted"] == (1, 2)
    assert seen(collector) == CONFORMING
    assert withheld(run) == {"quarantined": (1, 2)}
    assert len(listed(run)) == 1


def test_a_counted_payload_is_dropped_once(run: RunCommand, collector: CollectorDriver) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client).cycle()
    (item,) = listed(run)

    done = run("quarantine", "drop", item["key"], "--accept-loss", "--reason", "noise")

    assert done.exit_code == 0, done.stderr
    (loss,) = json.loads(run("losses", "--json").stdout)
    assert (loss["object_key"], loss["dataset_id"]) == (item["key"], collector.dataset_id)
    assert listed(run) == []


def test_a_verdict_by_another_schema_has_other_objects(
    run: RunCommand, collector: CollectorDriver
) -> None:
    schema = bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    nursery(collector.client, write_and_fail).cycle()
    before = {item["key"] for item in listed(run)}
    correct(collector.client, schema)
    send(collector, "six")
    nursery(collector.client).cycle()

    assert seen(collector) == sorted([*CONFORMING, *OTHERS, "0: six"])
    assert {item["key"] for item in listed(run)} == before
    assert withheld(run) == {"uncounted": (1, 2)}


def test_a_nursery_that_was_overtaken_leaves_no_second_copy(
    run: RunCommand, collector: CollectorDriver, tmp_path: Path
) -> None:
    """The task of a nursery that slept goes on after another one has registered its babies."""
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    slept = []

    def sleep(tasks: Any, where: Any) -> list[Any]:
        slept.extend(tasks)
        return []

    nursery(collector.client, sleep).cycle()
    choose(collector.client, collector.dataset_id, NULL)
    nursery(collector.client).cycle()
    for number, task in enumerate(slept):
        folder = tmp_path / str(number)
        folder.mkdir()
        execute(task, collector.store, BUDGET, folder)

    assert seen(collector) == sorted(CONFORMING + OTHERS)
    assert withheld(run) == {"uncounted": (1, 2)}


def test_fresh_records_are_those_that_the_next_version_shows(
    run: RunCommand, collector: CollectorDriver, meta_server: MetaServer
) -> None:
    bind(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, *PRICES)
    name = json.loads(run("datasets", "list", "--json").stdout)[-1]["name"]

    def read(columns: list[str]) -> list[str]:
        with open_dataset(
            name, "logs", columns=columns, fresh=True, meta_address=meta_server.address
        ) as opened:
            return sorted(map(str, opened.to_table()["body"].to_pylist()))

    fresh = read(["body"]), read(["body", "price"])
    nursery(collector.client).cycle()

    assert fresh == (CONFORMING, CONFORMING)
    assert read(["body"]) == CONFORMING


def test_the_setting_is_shown_and_set_with_the_binding(run: RunCommand) -> None:
    run("schemas", "create", "paid", "price:long")
    run("datasets", "create", "till")

    command = ("datasets", "columns", "till")
    bound = run(*command, "--schema", "paid", "--schema-violations", "reject")

    assert bound.stdout.startswith("schema             paid version 1, the newest\n")
    again = run(*command, "--schema", "paid", "--schema-version", "1")
    assert "schema violations  reject\n" in again.stdout
    assert "reject" in run(*command).stdout
    back = run(*command, "--schema-violations", "null", "--json")
    assert "schema_violations" not in json.loads(back.stdout)
