"""Commands `lock` and `unlock` of every noun that is a resource."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import RunCommand
from tests.support.meta.gated_proxy import gated_proxy
from tests.support.meta.server import MetaServer


def make(run: RunCommand, noun: str) -> str:
    """Create a thing of a noun; answers its name, or its id for a token."""
    if noun == "datasets":
        run("datasets", "create", "web")
    elif noun == "groups":
        run("groups", "create", "web")
    elif noun == "schemas":
        run("schemas", "create", "web", "status:int")
    elif noun == "groups":
        run("groups", "create", "web")
    elif noun == "views":
        run("views", "create", "web")
    elif noun == "projections":
        run("projections", "create", "web", "project body")
    else:
        run("datasets", "create", "web")
        run("tokens", "create", "web", "--dataset", "web")
        (token,) = json.loads(run("tokens", "list", "--json").stdout)
        return str(token["id"])
    return "web"


@pytest.mark.long
@pytest.mark.parametrize(
    "noun", ["datasets", "groups", "schemas", "views", "projections", "tokens"]
)
def test_a_locked_thing_is_not_deleted_until_its_token_unlocks_it(
    run: RunCommand, tmp_path: Path, noun: str
) -> None:
    name = make(run, noun)
    delete = (noun, "revoke" if noun == "tokens" else "delete", name)

    locked = run(noun, "lock", name, "--reason", "an audit", "--until", "90d")

    assert locked.exit_code == 0, locked.output
    assert locked.stdout.startswith("lock_")
    assert "printed once" in locked.stderr
    assert "lock reason" in run(noun, "show", name).stdout
    refused = run(*delete)
    assert refused.exit_code == 1
    assert "is locked by 'anonymous' until 20" in refused.stderr
    assert "an audit" in refused.stderr
    token, wrong = tmp_path / "token", tmp_path / "wrong"
    token.write_text(locked.stdout)
    wrong.write_text("lock_x")
    assert run(noun, "unlock", name, "--token-file", str(wrong)).exit_code == 1
    assert run(noun, "unlock", name, "--token-file", str(token)).exit_code == 0
    assert run(*delete).exit_code == 0


def test_a_lock_is_broken_with_a_reason(run: RunCommand) -> None:
    run("datasets", "create", "web")
    locked = run("datasets", "lock", "web", "--reason", "an audit", "--json")
    assert json.loads(locked.stdout)["resource"]["lock_reason"] == "an audit"

    assert run("datasets", "unlock", "web").exit_code == 2
    assert run("datasets", "unlock", "web", "--break").exit_code == 1
    broken = run("datasets", "unlock", "web", "--break", "--reason", "by a court", "--json")

    assert "lock_reason" not in json.loads(broken.stdout)["resource"]
    (line,) = run("audit", "list", "--rpc", "BreakLock", "--json").stdout.splitlines()
    record = json.loads(line)
    assert "by a court" in record["detail"]


@pytest.mark.parametrize("times", [1, 100], ids=["once", "each time"])
def test_a_lock_whose_answer_is_lost_is_ended_by_the_token_that_is_shown(
    meta_server: MetaServer, run: RunCommand, tmp_path: Path, times: int
) -> None:
    run("datasets", "create", "web")
    with gated_proxy(meta_server.address) as proxy:
        proxy.lose("LockResource", times)
        address = ("--meta-address", proxy.address)

        locked = run("datasets", "lock", "web", "--reason", "an audit", *address)

    assert locked.exit_code == (0 if times == 1 else 1), locked.output
    text = locked.stdout if times == 1 else locked.stderr.rpartition("its token is ")[2]
    token = tmp_path / "token"
    token.write_text(text)
    assert text.startswith("lock_")
    assert "an audit" in run("datasets", "show", "web").stdout
    assert run("datasets", "unlock", "web", "--token-file", str(token)).exit_code == 0


def test_a_deleted_dataset_is_locked_by_its_id(run: RunCommand) -> None:
    dataset = run("datasets", "create", "web").stdout.strip()
    run("datasets", "delete", "web")

    assert run("datasets", "lock", "web", "--reason", "an audit").exit_code == 1
    assert run("datasets", "lock", dataset, "--reason", "an audit").exit_code == 0


@pytest.mark.parametrize("until", ["soon", "2020-01-01", "9999999999999999999d"])
def test_an_end_that_is_not_a_time_to_come_is_refused(run: RunCommand, until: str) -> None:
    run("datasets", "create", "web")

    refused = run("datasets", "lock", "web", "--reason", "an audit", "--until", until)

    assert refused.exit_code in (1, 2)
    assert "Traceback" not in refused.output
