"""segplane access and audit against a real meta."""

import json

from tests.support.command_line import RunCommand


def test_a_token_is_created_listed_revoked_and_audited(run: RunCommand) -> None:
    created = run("access", "create", "--role", "nursery", "--subject", "nursery-eu")
    (token,) = json.loads(run("access", "list", "--json").stdout)

    assert created.stdout.startswith("segp_")
    assert created.stdout.strip().endswith(token["token_hint"])
    assert (token["subject"], token["role"]) == ("nursery-eu", "nursery")
    assert token["expires_at"] > token["created_at"]

    run("access", "revoke", token["id"])

    assert json.loads(run("access", "list", "--json").stdout)[0]["revoked_at"]
    records = json.loads(run("audit", "--json", "--subject-id", token["id"]).stdout)
    assert [record["rpc"] for record in records] == ["RevokeAccessToken", "CreateAccessToken"]
    assert "nursery-eu" in run("audit").stdout
    assert len(json.loads(run("audit", "--json", "--limit", "1").stdout)) == 1


def test_a_wrong_lifetime_is_one_line(run: RunCommand) -> None:
    refused = run("access", "create", "--role", "reader", "--subject", "x", "--expires", "soon")

    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: --expires:")
