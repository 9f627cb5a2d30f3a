"""segplane access and audit against a real meta."""

import json

from click.testing import Result

from tests.support.command_line import RunCommand


def records_of(result: Result) -> list[dict[str, str]]:
    """The JSON lines that a command printed."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_token_is_created_listed_revoked_and_audited(run: RunCommand) -> None:
    created = run("access", "create", "--role", "nursery", "--subject", "nursery-eu")
    (token,) = json.loads(run("access", "list", "--json").stdout)

    assert created.stdout.startswith("segp_")
    assert created.stdout.strip().endswith(token["token_hint"])
    assert (token["subject"], token["role"]) == ("nursery-eu", "nursery")
    assert token["expires_at"] > token["created_at"]

    run("access", "revoke", token["id"])

    assert json.loads(run("access", "list", "--json").stdout)[0]["revoked_at"]
    records = records_of(run("audit", "list", "--json", "--subject-id", token["id"]))
    assert [record["rpc"] for record in records] == ["RevokeAccessToken", "CreateAccessToken"]
    assert "nursery-eu" in run("audit", "list").stdout
    assert len(records_of(run("audit", "list", "--json", "--limit", "1"))) == 1


def test_show_names_who_created_and_changed_an_entry(run: RunCommand) -> None:
    run("datasets", "create", "web")
    run("datasets", "settings", "web", "--records-per-month", "9")

    shown = run("datasets", "show", "web").stdout
    assert "created by" in shown
    assert "updated by" in shown
    assert (
        json.loads(run("datasets", "show", "web", "--json").stdout)["authors"]["updated_by"]
        == "anonymous"
    )


def test_an_ingest_token_is_named_and_so_are_its_datasets(run: RunCommand) -> None:
    for name in ("web", "mobile"):
        run("datasets", "create", name)
    run("tokens", "create", "shop", "--dataset", "web")
    run("tokens", "create", "shop-eu", "--dataset", "web")

    assert run("tokens", "route", "shop", "--traces", "mobile").exit_code == 0
    shown = run("tokens", "show", "shop").stdout
    assert [line.split()[1] for line in shown.splitlines() if line.startswith(("logs", "tr"))] == [
        "web",
        "mobile",
    ]
    assert run("tokens", "lock", "shop", "--reason", "an audit").exit_code == 0
    assert "an audit" in run("tokens", "revoke", "shop").stderr
    assert run("tokens", "revoke", "shop-eu").exit_code == 0
    assert "no ingest token 'sho'" in run("tokens", "show", "sho").stderr


def test_a_wrong_lifetime_is_one_line(run: RunCommand) -> None:
    refused = run("access", "create", "--role", "reader", "--subject", "x", "--expires", "soon")

    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: --expires:")


def test_an_empty_creator_is_not_the_default_of_all(run: RunCommand) -> None:
    refused = run("access", "quotas", "", "--datasets", "-1")
    assert refused.exit_code == 2
    assert "the creator is empty" in refused.output
    assert "(default)" not in run("access", "quotas").stdout
