"""Notes, labels and contexts on the command line, of every kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from meta.client import MetaClient
from segplane.__main__ import app
from tests.support.command_line import RunCommand
from tests.support.meta.resources import KINDS, ResourceDriver
from tests.support.meta.server import MetaServer

NOUNS = {
    "datasets": "dataset",
    "schemas": "schema",
    "views": "view",
    "projections": "projection",
    "tokens": "ingest_token",
}
each_noun = pytest.mark.parametrize("noun", NOUNS)


@pytest.fixture
def resources(meta_client: MetaClient) -> ResourceDriver:
    return ResourceDriver(meta_client)


def made(resources: ResourceDriver, noun: str) -> tuple[str, str]:
    """Make a resource; its id, and the key by which commands name it."""
    id_ = resources.make(NOUNS[noun], "checkout")
    return id_, id_ if noun == "tokens" else "checkout"


def lines(run: RunCommand, *arguments: str) -> list[str]:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def data(run: RunCommand, *arguments: str) -> Any:
    return json.loads("\n".join(lines(run, *arguments, "--json")))


@each_noun
def test_every_noun_has_labels_notes_and_contexts(
    run: RunCommand, resources: ResourceDriver, noun: str, tmp_path: Path
) -> None:
    id_, key = made(resources, noun)
    (tmp_path / "context.json").write_text('{"tier": 1}')

    update = ("resources", "update", noun, key)
    context = str(tmp_path / "context.json")

    assert lines(run, *update) == []
    assert lines(run, *update, "--label", "team=payments", "--label", "a=b=c") == [
        "labels  a=b=c,team=payments"
    ]
    assert lines(run, *update, "--note", "Orders of the shop")[0] == "note    Orders of the shop"
    written = lines(run, *update, "--context", context)

    assert [line.split(None, 1) for line in written] == [
        ["note", "Orders of the shop"],
        ["labels", "a=b=c,team=payments"],
        ["context", '{"tier": 1}'],
    ]
    assert lines(run, *update) == written
    shown = lines(run, noun, "show", key)
    assert [line.split()[0] for line in shown[-3:]] == ["note", "labels", "context"]
    for filters in (
        ("--label", "team=payments"),
        ("--context", "tier=1", "--order", "changed", "--descending"),
        ("--name-from", "checkout", "--name-to", "checkouu"),
    ):
        (item,) = data(run, "resources", "list", noun, *filters)
        assert (item["id"], item["labels"]["team"]) == (id_, "payments"), filters
    assert data(run, "resources", "list", noun, "--label", "team=other") == []
    listed = lines(run, "resources", "list", noun, "--label", "team=payments")
    assert "a=b=c,team=payments" in listed[-1]
    assert listed[-1].endswith("Orders of the shop")


@each_noun
def test_what_was_written_can_be_removed(
    run: RunCommand, resources: ResourceDriver, noun: str
) -> None:
    id_, key = made(resources, noun)
    resources.update(
        id_, KINDS[NOUNS[noun]], note="n", context='{"a": 1}', set_labels={"a": "1", "b": "2"}
    )

    update = ("resources", "update", noun, key)
    assert lines(run, *update, "--remove-label", "a", "--note", "") == [
        "labels   b=2",
        'context  {"a": 1}',
    ]
    assert lines(run, *update, "--context", "") == ["labels  b=2"]

    left = resources.get(id_, KINDS[NOUNS[noun]])
    assert (left.note, left.context, dict(left.labels)) == ("", "", {"b": "2"})


def test_show_has_care_and_its_version_for_programs(
    run: RunCommand, resources: ResourceDriver
) -> None:
    id_, _ = made(resources, "views")
    bare = data(run, "views", "show", "checkout")
    resource = resources.update(
        id_, KINDS["view"], note="n", context='{"a": [1]}', set_labels={"k": "v"}
    )

    shown = data(run, "views", "show", "checkout")

    assert (bare["note"], bare["labels"], bare["context"]) == (None, {}, None)
    assert (shown["note"], shown["labels"], shown["context"]) == ("n", {"k": "v"}, {"a": [1]})
    assert shown["resource_version"] == resource.version


def test_a_change_for_another_version_is_refused(
    run: RunCommand, resources: ResourceDriver
) -> None:
    made(resources, "datasets")
    version = data(run, "datasets", "show", "checkout")["resource_version"]
    update, options = (
        ("resources", "update", "datasets", "checkout"),
        ("--expected-version", version),
    )

    assert run(*update, "--note", "one", *options).exit_code == 0
    refused = run(*update, "--note", "two", *options)

    assert (refused.exit_code, refused.stderr.endswith("(RACE_LOST)\n")) == (1, True)
    assert run(*update, "--note", "one", *options).exit_code == 0


def test_a_context_is_read_from_stdin(meta_server: MetaServer, resources: ResourceDriver) -> None:
    id_, _ = made(resources, "datasets")
    environment = {"SEGPLANE_META_ADDRESS": meta_server.address}

    command = ["resources", "update", "datasets", "checkout", "--context", "-"]
    done = CliRunner().invoke(app, command, env=environment, input='{"a": 1}\n')

    assert done.exit_code == 0, done.output
    assert resources.get(id_).context == '{"a": 1}\n'


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("update", "datasets", "checkout", "--label", "team"), 2, "'team' is not KEY=VALUE"),
        (("update", "datasets", "checkout", "--context", "no-file"), 2, "no-file cannot be read"),
        (("list", "datasets", "--label", "team"), 2, "label 'team' is not KEY=VALUE"),
        (("list", "datasets", "--label", ""), 2, "label '' is not KEY=VALUE"),
        (("list", "datasets", "--context", "=x"), 2, "context '=x' is not KEY=VALUE"),
        (("list", "datasets", "--label", "a=b", "--state", "live"), 1, "cannot be combined"),
        (("list", "datasets", "--name-from", "a", "--order", "created"), 1, "the order NAME only"),
        (("list", "datasets", "--order", "size"), 2, "'size' is not one of"),
        (("list", "pins"), 2, "'pins' is not one of"),
        (("update", "datasets", "missing", "--note", "n"), 1, "NOT_FOUND"),
        (("update", "views", "missing", "--label", "a=b"), 1, "there is no such view"),
        (("update", "tokens", "missing", "--note", "n"), 1, "there is no ingest token"),
        (("update", "views", "missing", "--title", "t"), 1, "title"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(
    run: RunCommand,
    resources: ResourceDriver,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    made(resources, "datasets")

    done = run("resources", *arguments)

    assert done.exit_code == code, done.output
    assert message in done.stderr


def test_deleted_ones_are_listed_by_state(run: RunCommand, resources: ResourceDriver) -> None:
    id_, _ = made(resources, "views")
    resources.end("view", id_)

    (item,) = data(run, "resources", "list", "views", "--state", "deleted", "--order", "created")

    assert (item["id"], item["state"]) == (id_, "RESOURCE_STATE_DELETED")
    assert data(run, "resources", "list", "views", "--state", "live") == []
