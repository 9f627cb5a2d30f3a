"""Secrets that `--output` writes to a file of their own."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import RunCommand

CREATIONS = [
    pytest.param(
        ("access", "create", "--role", "reader", "--subject", "ada"), "plaintext_token", id="access"
    ),
    pytest.param(("tokens", "create", "web", "--dataset", "web"), "plaintext_token", id="tokens"),
    pytest.param(("datasets", "lock", "web", "--reason", "an audit"), "token", id="lock"),
]


@pytest.mark.parametrize(("creation", "field"), CREATIONS)
def test_a_secret_is_in_a_new_file_of_its_owner_and_not_in_the_output(
    run: RunCommand, tmp_path: Path, creation: tuple[str, ...], field: str
) -> None:
    run("datasets", "create", "web")
    file = tmp_path / "secret"

    made = run(*creation, "--output", str(file), "--json")

    assert made.exit_code == 0, made.output
    secret = file.read_text().strip()
    assert len(secret) > 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret not in made.output
    assert not json.loads(made.stdout).get(field)


def test_a_file_that_exists_is_kept_and_nothing_is_created(run: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("mine")
    create = ("access", "create", "--role", "reader", "--subject", "ada")

    refused = run(*create, "--output", str(file))
    nowhere = run(*create, "--output", str(tmp_path / "no" / "secret"))

    assert (refused.exit_code, nowhere.exit_code) == (2, 2)
    assert "exists, and no file is replaced" in refused.stderr
    assert "cannot be written" in nowhere.stderr
    assert file.read_text() == "mine"
    assert json.loads(run("access", "list", "--json").stdout) == []


def test_a_refused_creation_leaves_no_file(run: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "secret"

    refused = run("tokens", "create", "web", "--dataset", "missing", "--output", str(file))

    assert refused.exit_code == 1
    assert not file.exists()
