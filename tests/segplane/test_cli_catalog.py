"""Schemas, projections and views, made and deleted on the command line."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from tests.meta.test_short_locks import WAIT_SECS, is_waiting
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until


def test_a_view_is_made_linked_and_deleted(run: RunCommand) -> None:
    for arguments in (
        ("datasets", "create", "web"),
        ("schemas", "create", "lines", "what:string", "at:datetime"),
        ("projections", "create", "logs", "project what = body, at = timestamp"),
        ("projections", "create", "bad", "project what = severity_number, at = timestamp"),
        ("views", "create", "all", "--schema", "lines"),
        ("views", "link", "all", "web", "logs"),
    ):
        assert run(*arguments).exit_code == 0

    refused = run("views", "link", "all", "web", "bad")
    listed = run("views", "list").stdout.splitlines()
    schemas = json.loads(run("schemas", "list", "--json").stdout)
    projections = run("projections", "list").stdout

    assert refused.exit_code == 1
    assert "column 'what' is int, the schema says string" in refused.stderr
    assert listed[1].split()[:3] == ["all", "1", "0"]
    assert [column["name"] for column in schemas[0]["columns"]] == ["what", "at"]
    assert "project what = body" in projections
    assert "body" in run("views", "show", "--sql", "all").stdout
    assert run("projections", "update", "logs", "project at = timestamp").exit_code == 1
    for removal in (
        ("views", "link", "--remove", "all", "web", "logs"),
        ("views", "delete", "all"),
        ("projections", "update", "logs", "project what = name, at = timestamp"),
        ("projections", "delete", "logs"),
        ("schemas", "delete", "lines"),
    ):
        assert run(*removal).exit_code == 0
    assert len(run("schemas", "list").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("schemas", "create", "s", "a:text"), "column 'a:text' is not name:type", 2),
        (("schemas", "create", "s", "a"), "column 'a' is not name:type", 2),
        (("projections", "create", "p", "wher x"), "1:1: there is no operator 'wher'", 1),
        (("views", "link", "v", "web", "p"), "v", 1),
    ],
)
def test_what_is_wrong_is_said(
    run: RunCommand, arguments: tuple[str, ...], message: str, code: int
) -> None:
    refused = run(*arguments)

    assert refused.exit_code == code
    assert message in refused.stderr


def test_a_change_of_what_another_person_changed_is_refused_with_the_difference(
    run: RunCommand, meta_server: MetaServer
) -> None:
    transactions = Transactions(meta_server.running.database)
    dataset = CatalogDriver(meta_server.client).dataset("web")
    before = json.loads(run("datasets", "retention", "web", "--json").stdout)["version"]
    limit = text("UPDATE datasets SET records_per_month = 5 WHERE id = :dataset")
    change = ("datasets", "retention", "web", "--event-retention", "30d")

    with ThreadPoolExecutor(1) as pool:
        with transactions.database.write() as tx:
            tx.execute(limit, {"dataset": dataset})
            refusal = pool.submit(run, *change)
            wait_until(lambda: is_waiting(transactions), "the command waits for the other's change")
        refused = refusal.result(WAIT_SECS)

    stale = run(*change, "--expected-version", before)
    assert (refused.exit_code, stale.exit_code) == (1, 1)
    assert 'records_per_month was "0" and is "5" (RACE_LOST)' in refused.stderr
    assert "read it again (RACE_LOST)" in stale.stderr
    assert run(*change).exit_code == 0
    assert run(*change, "--expected-version", before).exit_code == 0


def test_a_projection_is_changed_for_the_version_that_was_read(run: RunCommand) -> None:
    run("projections", "create", "p", "project body")
    version = json.loads(run("projections", "list", "--json").stdout)[0]["version"]
    run("projections", "update", "p", "where body != ''")

    refused = run("projections", "update", "p", "project name", "--expected-version", version)

    assert refused.exit_code == 1
    assert "it has changed since the version" in refused.stderr
    assert run("projections", "update", "p", "project name").exit_code == 0


def test_a_schema_is_renamed_and_its_columns_are_changed_at_once(run: RunCommand) -> None:
    run("schemas", "create", "s", "a:long", "b:string")

    changed = run("schemas", "update", "s", "--rename", "t", "--add", "c:real", "--remove", "a")
    refused = run("schemas", "update", "t", "--remove", "a")

    assert changed.stdout == "t version 2: b:string c:real\n"
    assert (refused.exit_code, "there is no column 'a'" in refused.stderr) == (1, True)
    (schema,) = json.loads(run("schemas", "list", "--json").stdout)
    assert (schema["name"], len(schema["columns"])) == ("t", 2)


def test_a_view_is_shown_and_its_parts_are_changed_and_cleared(run: RunCommand) -> None:
    run("schemas", "create", "s", "a:long")
    run("views", "create", "v")

    changed = run(
        "views", "update", "v", "--rename", "w", "--description", "of logs", "--schema", "s"
    )
    shown = json.loads(run("views", "show", "w", "--json").stdout)
    cleared = run("views", "update", "w", "--description", "", "--schema", "")

    assert (changed.exit_code, cleared.exit_code) == (0, 0)
    assert shown["description"] == "of logs"
    assert "schema_id" in shown
    assert run("views", "show", "w").stdout.splitlines()[2:4] == [
        "description  -",
        "schema       -",
    ]
    assert run("views", "show", "v").exit_code == 1
