"""`segplane tenants`: teams of one installation, as an operator manages them."""

import json

from tests.support.command_line import RunCommand


def test_a_tenant_is_created_listed_shown_renamed_suspended_and_deleted(run: RunCommand) -> None:
    created = run("tenants", "create", "payments")
    assert run("tenants", "create", "payments").stdout == created.stdout
    id_ = created.stdout.strip()

    listed = json.loads(run("tenants", "list", "--json").stdout)
    assert run("tenants", "rename", "payments", "billing").stdout == "billing\n"
    assert "segplane tenants resume billing" in run("tenants", "suspend", "billing").stdout
    suspended = run("tenants", "list").stdout
    shown = json.loads(run("tenants", "show", "billing", "--json").stdout)
    assert run("tenants", "resume", "billing").stdout == "resumed\n"
    deleted = run("tenants", "delete", "billing").stdout
    in_grace = run("tenants", "list").stdout
    assert run("tenants", "undelete", id_).stdout == "billing\n"

    assert [item["name"] for item in listed] == ["default", "payments"]
    assert listed[1]["id"] == id_
    assert suspended.splitlines()[-1].split()[0::4][0] == "billing"
    assert suspended.splitlines()[-1].endswith("suspended")
    assert shown["suspended_at"].endswith("Z")
    assert deleted == f"deleted; bring it back with: segplane tenants undelete {id_}\n"
    assert in_grace.splitlines()[-1].endswith("deleted")
    assert run("tenants", "show", "billing").stdout.splitlines()[-1].endswith("live")


def test_the_tenant_default_stays(run: RunCommand) -> None:
    refused = run("tenants", "suspend", "default")

    assert refused.exit_code == 1
    assert "the tenant default stays as it is" in refused.stderr


def test_a_dataset_moves_once_it_is_said_to(run: RunCommand) -> None:
    run("tenants", "create", "payments")
    run("datasets", "create", "web")
    token = run("tokens", "create", "eu", "--dataset", "web").stdout

    planned = run("datasets", "move", "web", "payments", "--dry-run").stdout
    refused = run("datasets", "move", "web", "payments")
    moved = run("datasets", "move", "web", "payments", "--new-name", "site", "--yes")

    assert token
    assert "dataset web of tenant default becomes web of tenant payments" in planned
    assert "token eu (" in planned
    assert refused.exit_code == 1
    assert "add --yes" in refused.stderr
    assert moved.stdout == "site is of tenant payments\n"


def test_the_store_of_a_tenant_is_shown_and_a_dataset_of_it_is_placed_by_its_id(
    run: RunCommand,
) -> None:
    run("tenants", "create", "payments")
    run("datasets", "create", "web")
    (id_,) = (
        item["id"]
        for item in json.loads(run("datasets", "list", "--json").stdout)
        if item["name"] == "web"
    )
    run("datasets", "move", "web", "payments", "--yes")

    assert run("tenants", "placement", "payments").stdout == "default\n"
    assert run("tenants", "placement", "payments", "default").stdout == "default\n"
    missing = run("tenants", "placement", "payments", "missing")
    assert (missing.exit_code, "missing" in missing.stderr) == (1, True)
    assert "here" in run("datasets", "placement", id_).stdout
    assert run("datasets", "placement", id_, "default").exit_code == 0
    assert run("datasets", "placement", "web").exit_code == 1


def test_usage_is_shown_of_all_tenants_and_of_one(run: RunCommand) -> None:
    run("tenants", "create", "payments")

    everyone = json.loads(run("tenants", "usage", "--json").stdout)
    one = json.loads(run("tenants", "usage", "payments", "--json").stdout)
    of_march = json.loads(run("tenants", "usage", "--month", "2026-03", "--json").stdout)

    assert [(row["tenant_name"], row["live_datasets"]) for row in everyone] == [
        ("default", "1"),
        ("payments", "0"),
    ]
    assert [(row["records"], row["bytes_stored"]) for row in one] == [("0", "0")]
    assert {row["month"] for row in of_march} == {"2026-03"}
    assert "bytes_stored" not in of_march[0]
    assert "payments" in run("tenants", "usage").stdout


def test_shares_are_set_and_shown(run: RunCommand) -> None:
    run("tenants", "create", "payments")
    run("tenants", "set-shares", "default", "--percent", "20")

    changed = run("tenants", "set-shares", "payments", "--datasets", "5").stdout
    shown = json.loads(run("tenants", "set-shares", "payments", "--json").stdout)
    refused = run("tenants", "set-shares", "payments", "--percent", "101")

    assert [line.split() for line in changed.splitlines()[1:3]] == [
        ["percent", "-", "20"],
        ["datasets", "5", "5"],
    ]
    assert (shown["shares"]["percent"], shown["shares"]["datasets"]) == (0, "5")
    assert shown["shares_in_force"]["percent"] == 20
    assert refused.exit_code == 2
