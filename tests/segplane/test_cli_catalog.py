"""Schemas, projections and views, made and deleted on the command line."""

import json

import pytest

from tests.support.command_line import RunCommand


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
    assert "body" in run("views", "sql", "all").stdout
    assert run("projections", "update", "logs", "project at = timestamp").exit_code == 1
    for arguments in (
        ("views", "unlink", "all", "web", "logs"),
        ("views", "delete", "all"),
        ("projections", "update", "logs", "project what = name, at = timestamp"),
        ("projections", "delete", "logs"),
        ("schemas", "delete", "lines"),
    ):
        assert run(*arguments).exit_code == 0
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
